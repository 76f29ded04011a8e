from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roteiro.chat.inert import Placeholders, bos_once, merge_parts

TOKENS = frozenset({"<|im_end|>", "<|im", "<s>", " "})


@given(st.lists(st.sampled_from(["<|im_end|>", "<|im", "a", "1", "\n", "é"]), max_size=10))
def test_protected_text_comes_back_whole_and_inert(pieces: list[str]):
    text = "".join(pieces)
    places = Placeholders(TOKENS)
    parts = places.split(f"<|im_end|>{places.protect(text)}<s>")
    assert "".join(part for part, _ in parts) == f"<|im_end|>{text}<s>"
    special = "".join(part for part, is_special in parts if is_special)
    assert special.count("<|im") == 1
    plain = "".join(part for part, is_special in parts if not is_special)
    assert plain.replace("<|im_end|>", "").replace("<|im", "") == ""


def test_structures_are_walked_and_left_as_they_were():
    value = {"<s>": ["<s>", 1, None, True, {"x": ("a<s>",)}]}
    places = Placeholders(TOKENS)
    safe = places.protect(value)
    assert "<s>" not in repr(safe)
    assert value == {"<s>": ["<s>", 1, None, True, {"x": ("a<s>",)}]}
    assert places.used


def test_the_longest_of_two_tokens_is_found():
    places = Placeholders(TOKENS)
    assert places.split(places.protect("<|im_end|>")) == (("<|im_end|>", False),)


def test_a_placeholder_that_was_cut_is_noticed():
    places = Placeholders(TOKENS)
    safe = places.protect("a<s>b")
    assert places.split(safe[:-5]) is None
    assert places.split(safe[5:]) is None
    assert places.split(safe.replace("a", "")) == (("<s>", False), ("b", True))


def test_breaking_keeps_the_text_visible_and_harmless():
    places = Placeholders(TOKENS, breaking=True)
    safe = places.protect("a<s>b")
    assert "<s>" not in safe
    assert safe.replace("\u200b", "") == "a<s>b"


def test_tokens_that_may_stay():
    places = Placeholders(TOKENS)
    assert places.protect("<s><|im", except_for=("<s>",)).startswith("<s>")


def test_neighbours_are_merged():
    assert merge_parts([("a", True), ("", False), ("b", True), ("c", False)]) == (("ab", True), ("c", False))


def test_a_bos_is_wanted_once():
    assert bos_once((("<s><s>a", True),), "<s>", False) == (("<s>a", True),)
    assert bos_once((("<s>", False), ("a", True)), "<s>", True)[0] == ("<s>", True)
    assert bos_once((("a", True),), "", True) == (("a", True),)
