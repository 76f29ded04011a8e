"""Linking: the references of a file become edges to what they mean in the whole tree."""

from roteiro.graph.link.linker import Linker, Mentions, Site

__all__ = ["Linker", "Mentions", "Site"]
