"""What Roteiro looks up for a question, on a small synced tree: the facts, their order, and refusals."""

from __future__ import annotations

import pytest

from fakes.ask_tree import ask_tree
from roteiro.errors import NoGraph
from roteiro.tools.access import GraphAccess
from roteiro.tools.briefing import Briefer
from roteiro.tools.briefing.briefer import MAX_FACTS
from roteiro.tools.graph_tools import tokens_of


@pytest.fixture(scope="module")
def access(tmp_path_factory):
    graph = ask_tree(tmp_path_factory.mktemp("tree"))
    yield graph
    graph.close()


@pytest.fixture
def briefer(access):
    return Briefer(access)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Who calls _frame?", "`Client._dispatch` calls `_frame` (shop/client.py:30)."),
        ("What does Client.order call?", "`Client.order` calls `Client._dispatch` (shop/client.py:27)."),
        ("Which function raises Refused?", "`_encode_answer` refers to `Refused` (shop/transport.py:32)."),
        ("Who imports Transport?", "`shop/client.py` imports `Transport` (shop/client.py:5)."),
        ("Which tests use Client?", "`test_order` calls `Client` (tests/test_client.py:5)."),
        (
            "What are the base classes of TimeoutProblem?",
            "The 2 base classes of `TimeoutProblem` are `ShopError` and `RuntimeError` (shop/transport.py:8).",
        ),
        (
            "Which classes derive from ShopError?",
            "`ShopError` is the base class of 2: `TimeoutProblem` (shop/transport.py:8), `Refused` (shop/transport.py:12).",
        ),
        (
            "Which class extends RuntimeError?",
            "1 class is a subclass of `RuntimeError`: `TimeoutProblem` (shop/transport.py:8).",
        ),
        (
            "What does Basket extend?",
            "The 2 base classes of `Basket` are `Array` and `Iterable<Item>` (web/cart.ts:2).",
        ),
        (
            "How does Client.order lead to Transport.send?",
            "The method in between is `Client._dispatch`: `Client.order` calls `Client._dispatch` (shop/client.py:27), which calls `Transport.send` (shop/client.py:30).",
        ),
        (
            "What is the default of mode in Client.configure?",
            'The parameter `mode` of `Client.configure` is declared as `mode: str = "lax"`; its default is `"lax"`.',
        ),
        (
            "What is the second parameter of Client.order?",
            "The second parameter of `Client.order` is `amount`, declared as `amount: int = 1`.",
        ),
        (
            "What does Client.order take?",
            "`Client.order` (shop/client.py:25) takes 2 parameters: 1. `name: str`, 2. `amount: int = 1`.",
        ),
        (
            "How many connections does Limits allow by default?",
            "`Limits` has the field `connections: int = 10`.",
        ),
        ("How many TODO comments are there?", "There is 1 TODO comment, in 1 file: `shop/client.py`."),
        ("How many FIXME comments are there?", "There are 0 FIXME comments in this repository: no such marker was found."),
        (
            "What does the TODO in parse_receipt ask for?",
            "`parse_receipt` has at shop/client.py:53 (todo): TODO: read the tax lines too",
        ),
        (
            "In which release was the pigeon transport dropped?",
            "Release `2.1.0 (2024-05-01)` (CHANGELOG.md:5): Dropped the carrier pigeon transport.",
        ),
        ("What changed in 2.0.0?", "Under the heading `2.0.0 (2024-01-01)` (CHANGELOG.md:8) stands:"),
        (
            "What is ADR-3 about?",
            "ADR-0003 is `Orders are framed as text` (docs/adr/0003-orders-as-text.md:1). Its status is Accepted.",
        ),
        (
            "Which function puts an order into bytes?",
            "`_frame` is a function in shop/client.py:43. Put an order into bytes for the wire.",
        ),
        ("Where is Basket defined?", "`Basket` is a class in web/cart.ts:2."),
        ("What is DEFAULT_RETRIES?", "`DEFAULT_RETRIES` is a constant in shop/client.py:7: `DEFAULT_RETRIES = 3`."),
        (
            "List the classes in shop/transport.py",
            "`shop/transport.py` has 4 classes: `ShopError`, `TimeoutProblem`, `Refused`, `Transport`.",
        ),
    ],
)  # fmt: skip
def test_the_first_fact_answers(briefer, question, first):
    briefing = briefer.brief(question)
    assert briefing.refusal is None
    assert briefing.facts[0] == first
    assert len(briefing.facts) <= MAX_FACTS


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Where is GiftCard?", "There is no `GiftCard` in this repository"),
        ("Who calls parse_receipts?", "Similar names that exist: `parse_receipt`"),
        ("Who calls Client.refund?", "`Client` is a class in shop/client.py:18. It has no member `refund`."),
        ("What does Client.orders do?", "Similar names that exist: `order`"),
        ("What is the default of the timeout parameter of Client.order?", "`Client.order` (shop/client.py:25) has no parameter `timeout`. It takes: `name`, `amount`."),
        ("Where is PigeonMail implemented?", "It is only mentioned, in CHANGELOG.md:16."),
    ],
)  # fmt: skip
def test_what_is_not_here_is_refused(briefer, question, said):
    briefing = briefer.brief(question)
    assert said in (briefing.refusal or "")
    assert not briefing.facts


def test_a_parameter_that_may_be_taken_is_not_refused(briefer):
    briefing = briefer.brief("What is the default of the speed parameter of Client.configure?")
    assert briefing.refusal is None, "**extra takes anything"


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "Who are you?",
        "what is 2+2?",
        "Write a poem about tea",
        "What does numpy.array return?",
        "What is the difference between useState and useMemo in React?",
        "Can you fix this?\n\n```python\ndef Client(): pass",
        "Fix this:\n```python\ndef Client(): pass\n```",
    ],
)
def test_what_is_not_about_the_repository_gets_neither_facts_nor_refusal(briefer, text):
    briefing = briefer.brief(text)
    assert briefing.refusal is None
    assert briefing.facts == ()


def test_a_task_that_names_a_symbol_gets_facts_and_no_refusal(briefer):
    briefing = briefer.brief("Rewrite `Client.order` so that it uses `fancy_queue`")
    assert briefing.refusal is None
    assert "`Client.order` is a method in shop/client.py:25. Order something." in briefing.facts


def test_a_follow_up_leans_on_the_turn_before(briefer):
    briefing = briefer.brief("and who calls it?", asked="Where is _frame?", answered="In shop/client.py:43.")
    assert briefing.facts[0] == "`Client._dispatch` calls `_frame` (shop/client.py:30)."


def test_facts_are_capped_and_cite_their_places(briefer):
    small = briefer.brief("What does Client.configure take?", max_tokens=40)
    assert sum(map(tokens_of, small.facts)) <= 40
    briefing = briefer.brief("Who calls _frame?")
    assert briefing.places == ("shop/client.py:30", "shop/client.py:43")


def test_subclasses_in_tests_are_named_only_where_there_are_no_others(briefer):
    assert "tests/test_client.py:8" in briefer.brief("How many classes are subclasses of Client?").facts[0]


def test_a_tree_without_a_graph_says_so(tmp_path):
    (tmp_path / ".git").mkdir()
    with pytest.raises(NoGraph):
        Briefer(GraphAccess(tmp_path)).brief("Who calls _frame?")


def test_markers_of_ignored_paths_do_not_count(access):
    briefing = Briefer(access, ignore=["shop/client.py"]).brief("How many TODO comments are there?")
    assert "shop/client.py" not in briefing.facts[0]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Which class has a method called close?", "`Transport.close` is a method in shop/transport.py:26."),
        ("Which files import dataclasses?", "`dataclasses` is imported in 1 file: shop/client.py."),
        (
            "Which function calls both _frame and Transport.send?",
            "`Client._dispatch` (shop/client.py:29) calls `_frame` and `Transport.send`.",
        ),
        ("Which method of Client sets many things?", "`Client.configure` is a method in shop/client.py:32."),
        ("What does this project do?", "The repository has 10 indexed files: 6 python, 2 markdown,"),
        ("How often does NotImplementedError occur in shop/transport.py?", "`NotImplementedError` occurs 1 time in 1 file: shop/transport.py."),
    ],
)  # fmt: skip
def test_other_questions(briefer, question, first):
    assert briefer.brief(question).facts[0].startswith(first)
