"""Finds the file that a Python import means, from the paths of the tree alone.

A module is looked for below the importer's own root (the folder above its top package), beside the
importer, below the tree's root and its usual source folders, then below any other root. Thread: any.
"""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import dirname
from typing import Final

from roteiro.graph.link.rules import STDLIB

_USUAL: Final = ("", "src", "lib", "python")


class PythonModules:
    """The Python modules of a tree."""

    __slots__ = ("_cache", "_folders", "_paths", "_roots", "_tops")

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)
        self._folders = {folder for path in self._paths for folder in _ancestors(path)}
        self._roots: dict[str, str] = {}
        self._cache: dict[tuple[str, str], str | None] = {}
        self._tops: dict[str, set[str]] = {}
        for path in self._paths:
            root = self.root_of(dirname(path))
            top = path[len(root) + 1 if root else 0 :].split("/", 1)[0]
            self._tops.setdefault(top.removesuffix(".pyi").removesuffix(".py"), set()).add(root)

    def root_of(self, folder: str) -> str:
        """The folder above the top package that `folder` belongs to; itself where it is no package."""
        found = self._roots.get(folder)
        if found is None:
            current = folder
            while current and self._is_package(current):
                current = dirname(current)
            found = self._roots[folder] = current
        return found

    def find(self, importer: str, module: str) -> str | None:
        """The module `module` (dots of a relative import included): a file, `folder/` or None."""
        folder = dirname(importer)
        key = (folder, module)
        if key not in self._cache:
            self._cache[key] = self._find(folder, module)
        return self._cache[key]

    def child(self, module: str, name: str) -> str | None:
        """The submodule `name` of a found module."""
        if module.endswith("/"):
            return self._at(module[:-1], name)
        if module.rpartition("/")[2] in {"__init__.py", "__init__.pyi"}:
            return self._at(dirname(module), name)
        return None

    def _find(self, folder: str, module: str) -> str | None:
        name = module.lstrip(".")
        level = len(module) - len(name)
        if level:
            for _ in range(level - 1):
                folder = dirname(folder)
            return self._at(folder, name)
        for root in self._candidates(folder, name.split(".", 1)[0]):
            found = self._at(root, name)
            if found is not None:
                return found
        return None

    def _candidates(self, folder: str, top: str) -> list[str]:
        own = self.root_of(folder)
        roots = [own, folder] if own == folder or top not in STDLIB else [own]
        roots += _USUAL
        if top not in STDLIB:
            others = self._tops.get(top, set()) - set(roots)
            roots += sorted(others, key=lambda root: (-_common(root, folder), len(root), root))
        return list(dict.fromkeys(roots))

    def _at(self, root: str, name: str) -> str | None:
        base = "/".join(part for part in (root, *name.split(".")) if part)
        if not base:
            return None
        for path in (
            f"{base}/__init__.py", f"{base}.py", f"{base}/__init__.pyi", f"{base}.pyi",
        ):  # fmt: skip
            if path in self._paths:
                return path
        return f"{base}/" if base in self._folders else None

    def _is_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py" in self._paths or f"{folder}/__init__.pyi" in self._paths


def _ancestors(path: str) -> list[str]:
    found = []
    folder = dirname(path)
    while folder:
        found.append(folder)
        folder = dirname(folder)
    return found


def _common(one: str, other: str) -> int:
    count = 0
    for left, right in zip(one.split("/"), other.split("/"), strict=False):
        if left != right:
            break
        count += 1
    return count
