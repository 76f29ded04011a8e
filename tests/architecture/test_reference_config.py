"""config/roteiro.toml tells of every key, with its default and class, and of no other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from roteiro.config.keys import KEYS, Key, MergedListKey

REFERENCE = Path(__file__).parents[2] / "config" / "roteiro.toml"


def written_keys() -> dict[str, tuple[str, str]]:
    """Key name to (its comment, its line), commented-out keys included."""
    found, section, comment = {}, "", []
    for line in REFERENCE.read_text().splitlines():
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section, comment = header[1], []
        elif key := re.fullmatch(r"(?:# )?(\w+) = (.+)", line):
            found[f"{section}.{key[1]}"] = (" ".join(comment), line)
            comment = []
        elif line.startswith("#"):
            comment.append(line)
        else:
            comment = []
    return found


def test_the_reference_names_exactly_the_declared_keys():
    assert list(written_keys()) == [key.name for key in KEYS]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_each_entry_has_the_declared_default_and_class(key: Key):
    comment, line = written_keys()[key.name]
    class_name = "value" if isinstance(key, MergedListKey) else key.class_name
    assert comment.lstrip("# ").startswith(f"{class_name};")
    value = tomllib.loads(line.removeprefix("# "))[key.name.split(".")[1]]
    if line.startswith("#"):
        assert key.default is None, "only a default that is found out may be a comment"
        key.read(value)
    else:
        assert key.read(value) == key.default
