"""One module of routes for each noun; a route reads, asks the runtime, and renders."""
