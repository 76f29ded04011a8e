"""Where configuration and models live: `$ROTEIRO_HOME`, the work tree's root, the project file.

Looks at the file system and the environment, both passed in. Thread: any but the event loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PROJECT_FILE = "roteiro.toml"
USER_FILE = "config.toml"


def home_folder(environ: Mapping[str, str]) -> Path:
    """`$ROTEIRO_HOME`, or `~/.roteiro`."""
    named = environ.get("ROTEIRO_HOME")
    return Path(named).expanduser().absolute() if named else Path.home() / ".roteiro"


def work_tree_root(folder: Path) -> Path | None:
    """The nearest folder upwards that holds `.git` (a folder, or the file of a linked work tree)."""
    folder = folder.absolute()
    return next((up for up in (folder, *folder.parents) if (up / ".git").exists()), None)


def project_file(folder: Path) -> Path | None:
    """The nearest `roteiro.toml` from `folder` up to the work tree's root; outside one, only `folder`'s."""
    folder = folder.absolute()
    root = work_tree_root(folder) or folder
    for up in (folder, *folder.parents):
        candidate = up / PROJECT_FILE
        if candidate.is_file():
            return candidate
        if up == root:
            return None
    return None
