"""The graph's tools as a model reads them: wording, caps, and failures that are data."""

from __future__ import annotations

import pytest

from fakes.ask_tree import ask_tree
from roteiro.tools.access import GraphAccess
from roteiro.tools.graph_tools import capped, graph_registry, tokens_of


@pytest.fixture(scope="module")
def access(tmp_path_factory):
    graph = ask_tree(tmp_path_factory.mktemp("tree"))
    yield graph
    graph.close()


@pytest.fixture
def registry(access):
    return graph_registry(access)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search", {"query": "frame an order"}, "`_frame` in shop/client.py:43"),
        ("search", {"query": "zzqqxx"}, "Nothing in this repository matches 'zzqqxx': 0 hits."),
        ("explain", {"key": "_frame"}, "`Client._dispatch` calls `_frame` (shop/client.py:30)"),
        ("explain", {"key": "Transport.close"}, "Signature of `Transport.close`: def close(self) -> None"),
        ("explain", {"key": "Basket"}, "`Basket` is a class in web/cart.ts:2."),
        (
            "path",
            {"from": "Client.order", "to": "_frame"},
            "The method in between is `Client._dispatch`: `Client.order` calls",
        ),
        ("debt", {"categories": ["hack"]}, "1 hack markers (1 hack) in 1 files: shop/transport.py."),
        ("debt", {"categories": ["fixme"]}, "There are 0 fixme markers in this repository."),
        ("context", {"key": "_frame"}, "def _frame"),
        ("list_kind", {"kind": "adr"}, "1 nodes of kind adr:"),
        ("list_kind", {"kind": "trait"}, "There are 0 nodes of kind trait."),
    ],
)
def test_results_read_as_answers(registry, name, arguments, said):
    result = registry.call(name, arguments)
    assert result.ok
    assert said in result.text


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("explain", {"key": "nowhere_to_be_found"}, "not_found"),
        ("explain", {"key": "__init__"}, "ambiguous"),
        ("path", {"from": "nowhere_to_be_found", "to": "_frame"}, "not_found"),
        ("search", {"query": ""}, "invalid_arguments"),
        ("search", {"words": "x"}, "invalid_arguments"),
        ("list_kind", {"kind": "verb"}, "invalid_arguments"),
        ("grep", {}, "unknown_tool"),
    ],
)
def test_failures_are_data(registry, name, arguments, code):
    result = registry.call(name, arguments)
    assert not result.ok
    assert result.code == code
    assert result.text


def test_a_result_is_capped_and_says_how_to_see_less(access):
    result = graph_registry(access, result_tokens=60).call("list_kind", {"kind": "method"})
    assert tokens_of(result.text) <= 60 + tokens_of("99 more; search with words.")
    assert "more; search with words." in result.text


def test_a_cap_keeps_at_least_the_beginning():
    assert capped(["x" * 400], 10, "narrow.").startswith("x" * 30)
    assert tokens_of(capped(["x" * 400], 10, "narrow.")) < 20
    assert capped(["a", "b"], 100, "narrow.") == "a\nb"
    assert capped(["a", "b", "c"], 1, "narrow.") == "a\n2 more; narrow."


def test_a_tree_without_a_graph_fails_as_data(tmp_path):
    (tmp_path / ".git").mkdir()
    result = graph_registry(GraphAccess(tmp_path)).call("search", {"query": "x"})
    assert (result.ok, result.code) == (False, "no_graph")
    assert "roteiro sync" in result.text


def test_results_cite_places(registry):
    assert "shop/client.py:43" in registry.call("explain", {"key": "_frame"}).places
