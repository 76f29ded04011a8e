"""Roteiro: a graph of your code, and local models that answer from it."""

__version__ = "0.1.0"
