"""Text: templates, tool-call dialects, thoughts, stop strings. Knows no token, no HTTP and no graph."""
