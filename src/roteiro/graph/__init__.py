"""Code: scan, parse, link, store, query. Knows no model and no prompt."""
