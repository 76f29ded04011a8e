"""The graph's queries as tools, and the briefing before an answer. Code meets text here."""
