"""The graph's queries over the Model Context Protocol: the same registry as the served model's."""
