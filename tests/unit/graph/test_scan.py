"""Which files a tree has."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from roteiro.graph.roots import Root, find_root
from roteiro.graph.scan import list_files


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        put(root, name, text)


def put(root: Path, path: str, text: str = "x = 1\n") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def listed(root: Path) -> list[str]:
    return [file.path for file in list_files(find_root(root)).files]


def reasons(root: Path) -> dict[str, str]:
    return dict(list_files(find_root(root)).left_out)


IGNORE_TREES = {
    "negation": {".gitignore": "*\n!*/\n!src/**\n!.gitignore\n", "src/a.py": "", "b.py": ""},
    "nested": {"x/.gitignore": "*.py\n!keep.py\n", "x/a.py": "", "x/keep.py": "", "a.py": ""},
    "anchored": {".gitignore": "/build\ndocs/*.py\n", "build/a.py": "", "x/build/a.py": "", "docs/a.py": "",
                 "docs/x/a.py": ""},
    "pruned": {".gitignore": "out/\n!out/keep.py\n", "out/keep.py": "", "a.py": ""},
    "spaces": {".gitignore": "a\\ b.py\n#c.py\n\\#d.py\n", "a b.py": "", "c.py": "", "#d.py": ""},
    "stars": {".gitignore": "**/gen/**\nfoo?.py\n[ab].py\n", "x/gen/a.py": "", "foo1.py": "", "a.py": "", "c.py": ""},
}  # fmt: skip


@pytest.mark.parametrize("name", IGNORE_TREES)
def test_a_plain_folder_lists_what_git_would(tmp_path: Path, name: str) -> None:
    tree = tmp_path / "tree"
    for path, text in IGNORE_TREES[name].items():
        put(tree, path, text)
    walked = listed(tree)
    git(tree, "init", "-q")
    expected = git(tree, "ls-files", "-co", "--exclude-standard").splitlines()
    expected = sorted(path.strip('"') for path in expected)
    assert expected == walked
    assert expected == listed(tree)


def test_tracked_files_count_even_where_they_are_ignored(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, **{"a.py": "", "b.py": "", ".gitignore": "a.py\nc.py\n", "c.py": ""})
    git(tmp_path, "add", "-f", "a.py")
    assert listed(tmp_path) == [".gitignore", "a.py", "b.py"]
    (tmp_path / "a.py").unlink()
    assert listed(tmp_path) == [".gitignore", "b.py"]


def test_submodules_and_nested_work_trees_are_reported_and_not_entered(tmp_path: Path) -> None:
    other, tree = tmp_path / "other", tmp_path / "tree"
    for folder in (other, tree):
        folder.mkdir()
        git(folder, "init", "-q")
    put(other, "inside.py")
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "first")
    git(tree, "submodule", "add", "-q", str(other), "sub")
    (tree / "nested").mkdir()
    git(tree / "nested", "init", "-q")
    put(tree, "nested/a.py")
    assert listed(tree) == [".gitmodules"]
    assert reasons(tree) == {"nested/": "a git work tree of its own", "sub": "a submodule"}


def test_a_hook_s_git_variables_do_not_change_the_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q")
    put(tmp_path, "a.py")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "none"))
    assert listed(tmp_path) == ["a.py"]


def test_without_git_a_work_tree_is_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, **{"a.py": "", ".gitignore": "b.py\n", "b.py": ""})
    root = find_root(tmp_path)
    monkeypatch.setenv("PATH", "")
    assert [file.path for file in list_files(root).files] == [".gitignore", "a.py"]


@pytest.mark.parametrize("in_git", [False, True])
def test_symbolic_links_are_not_followed(tmp_path: Path, in_git: bool) -> None:
    tree = tmp_path / "tree"
    put(tmp_path, "outside/secret.py")
    put(tree, "x/a.py")
    put(tree, "y/b.py")
    links = {
        "x/self": ".", "up": "../..", "disk": "/", "x/y": "../y", "y/x": "../x",
        "broken.py": "nothing.py", "out.py": "../outside/secret.py", "twin.py": "x/a.py",
    }  # fmt: skip
    for name, target in links.items():
        (tree / name).symlink_to(target)
    if in_git:
        git(tree, "init", "-q")
        git(tree, "add", ".")
    assert listed(tree) == ["x/a.py", "y/b.py"]
    assert reasons(tree)["out.py"] == "a symbolic link"


def test_names_that_are_no_text_are_reported_and_the_rest_goes_on(tmp_path: Path) -> None:
    put(tmp_path, "a.py")
    put(tmp_path, "new\nline.py")
    (tmp_path / os.fsdecode(b"bad\xff.py")).touch()
    for in_git in (False, True):
        if in_git:
            git(tmp_path, "init", "-q")
        assert listed(tmp_path) == ["a.py", "new\nline.py"]
        assert reasons(tmp_path) == {"bad\\xff.py": "its name is not UTF-8"}


def test_pipes_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    put(tmp_path, "a.py")
    assert listed(tmp_path) == ["a.py"]
    assert reasons(tmp_path) == {"pipe.py": "not a regular file"}


def test_a_plain_folder_leaves_out_installed_packages_and_says_so(tmp_path: Path) -> None:
    for path in ("a.py", "node_modules/x/i.js", "env/pyvenv.cfg", "env/lib/m.py", "__pycache__/a.py"):
        put(tmp_path, path)
    assert listed(tmp_path) == ["a.py"]
    assert reasons(tmp_path) == {"env/": "a virtual environment", "node_modules/": "installed packages"}


def test_a_folder_that_may_not_be_entered_is_reported(tmp_path: Path) -> None:
    put(tmp_path, "shut/a.py")
    put(tmp_path, "b.py")
    (tmp_path / "shut").chmod(0)
    try:
        if os.access(tmp_path / "shut", os.R_OK):
            pytest.skip("this user may read everything")
        assert listed(tmp_path) == ["b.py"]
        assert reasons(tmp_path)["shut/"].startswith("cannot be entered")
    finally:
        (tmp_path / "shut").chmod(0o755)


def test_deep_folders_do_not_end_the_scan(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 400)
    put(tmp_path, f"{deep}/a.py")
    assert listed(tmp_path) == [f"{deep}/a.py"]


def test_one_bad_pattern_does_not_void_an_ignore_file(tmp_path: Path) -> None:
    write(tmp_path, **{".gitignore": "!\n\\\nb.py\n", "a.py": "", "b.py": ""})
    assert listed(tmp_path) == [".gitignore", "a.py"]


def test_a_root_that_vanished_lists_nothing(tmp_path: Path) -> None:
    listing = list_files(Root(path=tmp_path / "gone", git_dir=None))
    assert listing.files == ()
    assert listing.left_out[0][1].startswith("cannot be entered")
