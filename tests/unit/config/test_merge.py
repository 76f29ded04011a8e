"""Layers merge by the class of the key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roteiro.config.keys import BY_NAME, KEYS, CapabilityKey, IntersectionKey
from roteiro.config.layers import Layer
from roteiro.config.merge import merge


def layers(**values: dict) -> list[Layer]:
    return [Layer(name=name, values=given) for name, given in values.items()]


@pytest.mark.parametrize(
    ("given", "value", "origin"),
    [
        ({}, 4, "default"),
        ({"user": 5}, 5, "user"),
        ({"user": 5, "project": 6}, 6, "project"),
        ({"user": 5, "project": 6, "cli": 7}, 7, "cli"),
    ],
)
def test_the_strongest_layer_decides_a_value(given, value, origin):
    entry = merge(layers(**{name: {"serve.sessions": v} for name, v in given.items()}))["serve.sessions"]
    assert (entry.value, entry.origin) == (value, origin)
    assert len(entry.overruled) == max(0, len(given) - 1)


@pytest.mark.parametrize(
    ("given", "value", "origin"),
    [
        ({"project": 65536}, 32768, "default"),
        ({"project": 100}, 100, "project"),
        ({"user": 65536, "project": 50000}, 50000, "project"),
        ({"user": 65536, "project": 99999}, 65536, "user"),
        ({"user": 100, "cli": 200, "project": 300}, 200, "cli"),
    ],
)
def test_a_project_may_only_lower_a_capability(given, value, origin):
    name = "serve.max_client_tool_bytes"
    entry = merge(layers(**{layer: {name: v} for layer, v in given.items()}))[name]
    assert (entry.value, entry.origin) == (value, origin)


def test_a_project_that_tries_to_raise_a_capability_is_reported():
    entry = merge(layers(project={"store.allow_pull": True}))["store.allow_pull"]
    assert entry.value is False
    assert [item.layer for item in entry.overruled] == ["project"]


def test_a_project_may_not_set_a_user_only_key():
    entry = merge(layers(project={"serve.allowed_origins": ("https://evil.example",)}))
    assert entry["serve.allowed_origins"].value == ()
    assert "may not set" in entry["serve.allowed_origins"].overruled[0].why


@pytest.mark.parametrize(
    ("addr", "taken"),
    [
        ("127.0.0.1:1", True),
        ("[::1]:9", True),
        ("localhost:80", True),
        ("unix:/run/r.sock", True),
        ("0.0.0.0:8017", False),
        ("[::]:8017", False),
        ("example.com:80", False),
        ("localhost.evil.example:80", False),
    ],
)
def test_a_project_may_bind_loopback_only(addr, taken):
    entry = merge(layers(project={"serve.addr": addr}))["serve.addr"]
    assert (entry.value == addr) is taken


def test_every_layer_narrows_an_intersection_and_none_widens_it():
    entry = merge(layers(user={"mcp.tools": ("search", "debt")}, project={"mcp.tools": ("debt", "path")}))[
        "mcp.tools"
    ]
    assert entry.value == ("debt",)
    assert entry.origin == "user+project"


def test_ignore_lists_add_up_until_one_resets_them():
    both = layers(user={"debt.ignore": ("a/**",)}, project={"debt.ignore": ("b/**",)})
    assert merge(both)["debt.ignore"].value == ("a/**", "b/**")
    assert merge(both)["debt.ignore"].origin == "user+project"
    reset = layers(
        user={"debt.ignore": ("a/**",)},
        project={"debt.ignore": ("b/**",), "debt.ignore_reset": True},
    )
    assert merge(reset)["debt.ignore"].value == ("b/**",)
    assert merge(reset)["debt.ignore"].overruled[0].layer == "user"


def capability_values(key: CapabilityKey):
    return st.booleans() if isinstance(key.default, bool) else st.integers(0, 2**40)


CAPABILITIES = [key for key in KEYS if isinstance(key, CapabilityKey)]


@given(st.data())
def test_no_layering_lets_a_capability_exceed_its_grant(data):
    values = {name: {} for name in ("cli", "project", "user")}
    for key in CAPABILITIES:
        for layer in values.values():
            if data.draw(st.booleans()):
                layer[key.name] = data.draw(capability_values(key))
    entries = merge(layers(**values))
    for key in CAPABILITIES:
        granted = next(
            (values[name][key.name] for name in ("cli", "user") if key.name in values[name]), key.default
        )
        assert entries[key.name].value <= granted
        if key.name not in values["project"]:
            assert entries[key.name].value == granted


@given(
    st.dictionaries(
        st.sampled_from(["cli", "project", "user"]),
        st.lists(st.sampled_from("abcde"), unique=True).map(tuple),
    )
)
def test_an_intersection_never_holds_what_a_layer_left_out(given):
    entry = merge(layers(**{name: {"mcp.tools": v} for name, v in given.items()}))["mcp.tools"]
    if not given:
        assert entry.value is None
    else:
        assert set(entry.value) == set.intersection(*map(set, given.values()))


def test_every_key_has_a_class_and_a_help():
    assert len(BY_NAME) == len(KEYS)
    for key in KEYS:
        assert key.class_name
        assert key.help
        assert key.name.count(".") == 1
    assert isinstance(BY_NAME["mcp.tools"], IntersectionKey)
