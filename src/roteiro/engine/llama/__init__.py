"""The door to llama.cpp: the only package that imports `llama_cpp`, through its C API alone.

One file a native object. Native failures become errors of `roteiro.errors` here. Thread: engine thread.
"""

from roteiro.engine.llama.library import LlamaBackend

__all__ = ["LlamaBackend"]
