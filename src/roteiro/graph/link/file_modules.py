"""Finds the file that an import by path means: JavaScript's modules, C's includes, scripts' sources.

Works on the paths of the tree alone. Thread: any.
"""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import basename, dirname, join, normpath
from typing import Final

_ECMA: Final = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_SWAPS: Final = {".js": (".ts", ".tsx"), ".mjs": (".mts",), ".cjs": (".cts",), ".jsx": (".tsx",)}
_ROOTS: Final = ("src", "")


class EcmaModules:
    """The modules of JavaScript and TypeScript."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)
        self._cache: dict[tuple[str, str], str | None] = {}

    def find(self, importer: str, module: str) -> str | None:
        """The file that `module` means in `importer`, None for another code base's."""
        key = (dirname(importer), module)
        if key not in self._cache:
            self._cache[key] = self._find(*key)
        return self._cache[key]

    def child(self, _module: str, _name: str) -> str | None:
        """Modules hold no modules."""
        return None

    def _find(self, folder: str, module: str) -> str | None:
        if module.startswith("."):
            return self._at(normpath(join(folder, module)))
        if module.startswith(("@/", "~/")):
            module = module[2:]
        elif "/" not in module or module.startswith("@"):
            return None
        found = (self._at(normpath(join(root, module))) for root in _ROOTS)
        return next((path for path in found if path is not None), None)

    def _at(self, base: str) -> str | None:
        if base == ".":
            base = "index"
        if base in self._paths:
            return base
        for suffix, others in _SWAPS.items():
            if base.endswith(suffix):
                stem = base.removesuffix(suffix)
                found = next((stem + o for o in others if stem + o in self._paths), None)
                if found is not None:
                    return found
        for candidate in (base, f"{base}/index"):
            for suffix in _ECMA:
                if candidate + suffix in self._paths:
                    return candidate + suffix
        return None


class PathModules:
    """Files named by their path, beside the importer or by the end of their path."""

    def __init__(self, paths: Iterable[str], suffixes: tuple[str, ...] = ("",)) -> None:
        self._paths = frozenset(paths)
        self._suffixes = suffixes
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(self._paths):
            self._by_name.setdefault(basename(path), []).append(path)

    def find(self, importer: str, module: str) -> str | None:
        """The file that `module` means in `importer`; None if several may be meant equally."""
        module = module.lstrip("/")
        if "$" in module:  # "$DIR/lib.sh": the folder is known at run time only
            module = module.rpartition("/")[2].strip("\"'")
        for suffix in self._suffixes:
            path = normpath(join(dirname(importer), module + suffix))
            if path in self._paths:
                return path
        for suffix in self._suffixes:
            wanted = normpath(module + suffix)
            while wanted.startswith("../"):
                wanted = wanted[3:]
            rows = [p for p in self._by_name.get(basename(wanted), ()) if f"/{p}".endswith(f"/{wanted}")]
            if rows:
                return max(rows, key=lambda path: (_shared(path, importer), -len(path)))
        return None

    def child(self, _module: str, _name: str) -> str | None:
        """Files hold no files."""
        return None


def _shared(one: str, other: str) -> int:
    count = 0
    for left, right in zip(dirname(one).split("/"), dirname(other).split("/"), strict=False):
        if left != right:
            break
        count += 1
    return count
