"""Finds the files of Rust's modules: crates by their roots, `mod` declarations by their place.

Works on the paths of the tree alone. Thread: any.
"""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import basename, dirname
from typing import Final

_ROOTS: Final = ("lib.rs", "main.rs")


class RustModules:
    """The crates and module files of a tree."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)
        self._crates: dict[str, str] = {}
        for path in sorted(self._paths):
            if path.endswith("src/lib.rs"):
                folder = basename(dirname(dirname(path)))
                self._crates[folder.replace("-", "_")] = path

    def crate(self, name: str) -> str | None:
        """The root file of a crate of this tree, by its folder's name."""
        return self._crates.get(name)

    def root(self, path: str) -> str:
        """The root file of the crate that `path` belongs to; itself where there is none above it."""
        folder = dirname(path)
        while True:
            for name in _ROOTS:
                candidate = f"{folder}/{name}" if folder else name
                if candidate in self._paths:
                    return candidate
            if not folder:
                return path
            folder = dirname(folder)

    def child(self, path: str, name: str) -> str | None:
        """The file of the module `name` that is declared in `path`."""
        folder = self._folder(path)
        for candidate in (f"{name}.rs", f"{name}/mod.rs"):
            found = f"{folder}/{candidate}" if folder else candidate
            if found in self._paths:
                return found
        return None

    def parent(self, path: str) -> str | None:
        """The file that declares the module in `path`."""
        if path == self.root(path):
            return None
        folder = dirname(path)
        if basename(path) == "mod.rs":
            folder = dirname(folder)
        for candidate in (f"{folder}/mod.rs", f"{folder}.rs", *(f"{folder}/{r}" for r in _ROOTS)):
            found = candidate.lstrip("/")
            if found in self._paths and found != path:
                return found
        return None

    def _folder(self, path: str) -> str:
        folder, name = dirname(path), basename(path)
        if name in {*_ROOTS, "mod.rs"} or path == self.root(path):
            return folder
        stem = name.removesuffix(".rs")
        return f"{folder}/{stem}" if folder else stem
