"""Which folder a graph is about, and where its store lies.

Owns the way from a path somewhere in a work tree to its root, and the refusal of roots nobody means.
Reads `.git` itself and starts no process. Thread: any.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from roteiro.errors import GraphError, RootRefused

STORE_FOLDER = "roteiro"
PLAIN_STORE_FOLDER = ".roteiro"
STORE_FILE = "graph.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A folder to index. `git_dir` is its own git directory (a linked work tree's too), None outside git."""

    path: Path
    git_dir: Path | None

    @property
    def store_path(self) -> Path:
        """The graph's file: in the git directory, or in `.roteiro` outside git."""
        if self.git_dir is not None:
            return self.git_dir / STORE_FOLDER / STORE_FILE
        return self.path / PLAIN_STORE_FOLDER / STORE_FILE


def find_root(start: Path, *, force: bool = False) -> Root:
    """The root that a path belongs to: the whole work tree around it, else the folder itself.

    Outside git, a folder above that already has a graph is the root, as a work tree would be.

    Args:
        start: a folder, or a file in one.
        force: take `/` and the home folder too.

    Raises:
        RootRefused: the path does not exist, or is one that nobody means to index whole.
    """
    try:
        folder = start.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise RootRefused(
            f"The folder {str(start)!r} cannot be opened: {_why(error)}.",
            hint="Give the path of a folder that exists.",
        ) from error
    if not folder.is_dir():
        folder = folder.parent
    root = _git_root(folder) or _plain_root(folder)
    if not force:
        _refuse_whole_disks(root.path)
    return root


# --------------------------------------------------------------------------------------------------


def _git_root(folder: Path) -> Root | None:
    for candidate in (folder, *folder.parents):
        git_dir = _git_dir(candidate / ".git")
        if git_dir is not None:
            return Root(path=candidate, git_dir=git_dir)
    return None


def _git_dir(dot_git: Path) -> Path | None:
    """The git directory behind `.git`, which is a file in linked work trees and submodules."""
    try:
        if dot_git.is_dir():
            return dot_git if (dot_git / "HEAD").is_file() else None
        if not dot_git.is_file():
            return None
        text = dot_git.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    if not text.startswith("gitdir:"):
        return None
    target = (dot_git.parent / text.removeprefix("gitdir:").strip()).resolve()
    if not (target / "HEAD").is_file():
        # The work tree is known to be one, yet its git directory is gone: writing there would fail.
        raise GraphError(
            f"{str(dot_git)!r} points at {str(target)!r}, which is not a git directory.",
            hint="Repair the work tree (`git worktree repair`) or remove the file.",
        )
    return target


def _plain_root(folder: Path) -> Root:
    for candidate in (folder, *folder.parents):
        if (candidate / PLAIN_STORE_FOLDER / STORE_FILE).is_file():
            return Root(path=candidate, git_dir=None)
    return Root(path=folder, git_dir=None)


def _refuse_whole_disks(folder: Path) -> None:
    if folder.parent == folder:
        what = "the root of the file system"
    elif folder == Path.home().resolve():
        what = "the home folder"
    else:
        return
    raise RootRefused(
        f"{str(folder)!r} is {what}; a graph of it is hardly what was meant.",
        hint="Name a project's folder, or use --force to index it all the same.",
    )


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
