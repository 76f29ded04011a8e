"""The tree drawn in `errors.py` is the tree of the classes, and every leaf has a stable code."""

from __future__ import annotations

import re

from roteiro import errors


def classes() -> list[type[errors.RoteiroError]]:
    found, waiting = [], [errors.RoteiroError]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += [sub for sub in one.__subclasses__() if sub.__module__ == errors.__name__]
    return found


def test_the_drawing_names_every_class_under_its_parent():
    drawn: dict[str, str] = {}
    stack: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^( {4,})([A-Z]\w+)( |$)", line)
        if not match:
            continue
        depth = len(match[1])
        while stack and stack[-1][0] >= depth:
            stack.pop()
        drawn[match[2]] = stack[-1][1] if stack else ""
        stack.append((depth, match[2]))
    actual = {
        one.__name__: "" if one is errors.RoteiroError else one.__mro__[1].__name__ for one in classes()
    }
    assert drawn == actual


def test_codes_are_stable_words_and_leaves_do_not_share_them():
    leaves = [one for one in classes() if not one.__subclasses__()]
    codes = [one.code for one in leaves]
    assert len(codes) == len(set(codes))
    assert all(re.fullmatch(r"[a-z_]+", code) for code in codes)


def test_a_very_long_model_id_is_not_echoed_whole():
    error = errors.ModelNotFound("x" * 100_000, ["a"])
    assert len(error.message) < 400
    assert "Installed: a." in error.message
