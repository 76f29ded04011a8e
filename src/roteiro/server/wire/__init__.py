"""The wire's own shapes: request models, the parameter table, and the folds from events to JSON."""
