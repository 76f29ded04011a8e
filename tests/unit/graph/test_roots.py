"""Which folder a graph is about, and where its store lies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from roteiro.errors import GraphError, RootRefused
from roteiro.graph.roots import find_root


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def test_a_sub_folder_means_the_whole_work_tree(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "c.py").write_text("")
    for start in (inner, inner / "c.py"):
        root = find_root(start)
        assert root.path == tmp_path.resolve()
        assert root.store_path == tmp_path.resolve() / ".git" / "roteiro" / "graph.db"


def test_a_linked_work_tree_has_a_store_of_its_own(tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"))
    linked = find_root(tmp_path / "linked")
    assert linked.path == tmp_path / "linked"
    assert linked.store_path == main / ".git" / "worktrees" / "linked" / "roteiro" / "graph.db"


def test_a_work_tree_whose_git_directory_is_gone_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere/at/all\n")
    with pytest.raises(GraphError, match="not a git directory"):
        find_root(tmp_path)


def test_outside_git_the_store_is_in_the_folder_and_found_from_below(tmp_path: Path) -> None:
    root = find_root(tmp_path)
    assert root.git_dir is None
    assert root.store_path == tmp_path / ".roteiro" / "graph.db"
    root.store_path.parent.mkdir()
    root.store_path.write_text("")
    (tmp_path / "a").mkdir()
    assert find_root(tmp_path / "a").path == tmp_path


def test_the_file_system_and_the_home_folder_are_refused_unless_forced(isolated_home: Path) -> None:
    for folder in (Path("/"), isolated_home):
        with pytest.raises(RootRefused, match="is the"):
            find_root(folder)
        assert find_root(folder, force=True).path == folder.resolve()


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RootRefused, match="cannot be opened"):
        find_root(tmp_path / "none")


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(RootRefused):
        find_root(tmp_path / "a")
