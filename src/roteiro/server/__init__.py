"""The HTTP front door: translates requests into conversation values and events into JSON and SSE."""
