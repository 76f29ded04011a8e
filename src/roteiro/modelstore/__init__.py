"""Installed GGUF models: reading their headers, keeping the index, adopting, downloading and removing files.

It knows files and metadata. It knows no token, no prompt and no engine: a model is proved loadable by a
child process whose command line is handed in. Thread: any; the index is guarded across processes.
"""
