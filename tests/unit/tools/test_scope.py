"""Sources come before what repeats them or stands beside them."""

from __future__ import annotations

import pytest

from roteiro.graph.model import Node
from roteiro.tools.scope import best_standing, is_aside, is_test, sources_first, standing


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("src/app.py", 0),
        ("roteiro/tools/debts.py", 0),
        ("pkg/testing.py", 0),
        ("src/attr/__init__.pyi", 1),
        ("dist/index.js", 1),
        ("types/index.d.ts", 1),
        ("scripts/release.py", 2),
        ("docs/conf.py", 2),
        ("vendor/six.py", 2),
        (".github/check.py", 2),
        ("tests/test_app.py", 3),
        ("src/app.test.ts", 3),
        ("src/v3/tests/string.ts", 3),
        ("pkg/conftest.py", 3),
    ],
)
def test_standing(path, value):
    assert standing(path) == value
    assert is_aside(path) is (value > 0)
    assert is_test(path) is (value == 3)


def node(path: str) -> Node:
    return Node(key=f"sym:python:{path}#f", kind="fn", name="f", path=path, line=1)


def test_nodes_are_ordered_and_chosen_by_it():
    nodes = [node("tests/test_a.py"), node("a.pyi"), node("a.py"), node("b.py")]
    assert [n.path for n in sources_first(nodes)] == ["a.py", "b.py", "a.pyi", "tests/test_a.py"]
    assert [n.path for n in best_standing(nodes)] == ["a.py", "b.py"]
    assert best_standing([]) == []
