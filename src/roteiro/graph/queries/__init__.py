"""The questions one may put to a graph; each answer is a frozen value whose `to_json()` is promised.

    search explain path context debt density list_nodes export resolve_name

They take an open `GraphStore` and nothing else that is alive, so the terminal, HTTP, MCP and the
model's tools all call the same functions. Import them from their modules: `queries.search` and so on.
Thread: any.
"""
