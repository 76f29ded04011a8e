"""Names that files share without importing one another: Go's folders, Java's packages, C's linkage.

One index for each family of languages, made when first asked for. Thread: one linker.
"""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import dirname

from roteiro.graph.extract.facts import FILE_SCOPE, FileHeader
from roteiro.graph.link.rules import RULES, Rules
from roteiro.graph.link.survey import Survey

Row = tuple[str, int]


class Package:
    """What the files of one package define: by bare name at file level, by qualified name at all."""

    __slots__ = ("holders", "names", "qualnames")

    def __init__(self) -> None:
        self.names: dict[str, list[Row]] = {}
        self.qualnames: dict[str, list[Row]] = {}
        self.holders: dict[str, dict[str, None]] = {}

    def add(self, path: str, header: FileHeader) -> None:
        """Take in one file."""
        for index, row in enumerate(header.defs):
            if "v" in row.flags or "~" in row.qualname:
                continue
            holder, _, name = row.qualname.rpartition(".")
            self.qualnames.setdefault(row.qualname, []).append((path, index))
            if holder:
                self.holders.setdefault(holder, {})[path] = None
            elif row.parent == FILE_SCOPE:
                self.names.setdefault(name, []).append((path, index))
        for bind in header.binds:
            if "." in bind.name and 0 <= bind.scope < len(header.defs):
                holder = header.defs[bind.scope].qualname.rpartition(".")[0]
                self.holders.setdefault(holder, {})[path] = None


class Packages:
    """The packages of every family."""

    def __init__(self, headers: Mapping[str, FileHeader], survey: Survey) -> None:
        self._headers = headers
        self._survey = survey
        self._families: dict[str, dict[str, Package]] = {}
        self._prefix: str | None = None

    def of(self, path: str, header: FileHeader) -> Package:
        """The package that a file belongs to."""
        rules = RULES[header.lang]
        return self.named(rules.family, _name(path, header, rules)) or Package()

    def named(self, family: str, name: str) -> Package | None:
        """A package by its name: a folder for Go, "" where a family has only one."""
        return self._family(family).get(name)

    def begins(self, family: str, name: str) -> bool:
        """Whether a package has this name or one that goes on from it."""
        dotted = name + "."
        return any(key == name or key.startswith(dotted) for key in self._family(family))

    def go_folder(self, module: str) -> str | None:
        """The folder that a Go import path means."""
        if self._prefix is None:
            self._prefix = self._go_prefix()
        prefix = self._prefix
        if prefix == "?":
            return None
        if module == prefix:
            folder = ""
        elif prefix == "" or module.startswith(prefix + "/"):
            folder = module[len(prefix) + 1 if prefix else 0 :]
        else:
            return None
        return folder if folder in self._family("go") else None

    def _go_prefix(self) -> str:
        """The module's own path: the start of import paths whose rest are folders of the tree."""
        folders = self._family("go")
        votes: dict[str, set[str]] = {}
        for path in self._survey.family("go"):
            for row in self._headers[path].imports:
                parts = row.module.split("/")
                for cut in range(1, len(parts)):
                    rest = "/".join(parts[cut:])
                    if rest in folders and ("." in parts[0] or cut == 1):
                        votes.setdefault("/".join(parts[:cut]), set()).add(rest)
        if not votes:
            return "?"
        return max(votes, key=lambda prefix: (len(votes[prefix]), len(prefix), prefix))

    def _family(self, family: str) -> dict[str, Package]:
        found = self._families.get(family)
        if found is None:
            found = self._families[family] = {}
            for path in self._survey.family(family):
                header = self._headers[path]
                name = _name(path, header, RULES[header.lang])
                found.setdefault(name, Package()).add(path, header)
        return found


def _name(path: str, header: FileHeader, rules: Rules) -> str:
    if rules.packages == "folder":
        return dirname(path)
    return header.package if rules.packages == "declared" else ""
