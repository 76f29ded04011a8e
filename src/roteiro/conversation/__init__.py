"""Text meets tokens: one request as one stream of events. Knows no HTTP and no native library."""
