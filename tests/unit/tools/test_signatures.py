"""Signatures of several languages, taken apart."""

from __future__ import annotations

import pytest

from roteiro.tools.briefing.signatures import (
    bases_of,
    default_of,
    name_of_parameter,
    parameters_of,
    result_of,
    whole,
)


@pytest.mark.parametrize(
    ("signature", "parameters", "result"),
    [
        (
            "def f(self, a: int = 1, *, b=(1, 2)) -> dict[str, int]",
            ["a: int = 1", "b=(1, 2)"],
            "dict[str, int]",
        ),
        ('def f(a: str = "x, y", **k)', ['a: str = "x, y"', "**k"], None),
        ("function f<T>(a: T, b: (x: T) => void = g): T[] {", ["a: T", "b: (x: T) => void = g"], "T[]"),
        ("fn f(&self, a: Vec<(u8, u8)>) -> Result<(), E>", ["a: Vec<(u8, u8)>"], "Result<(), E>"),
        ("func (c *Client) Do(req *Request) (int, error)", ["req *Request"], None),
        ("def f()", [], None),
        ("LIMIT = 3", None, None),
    ],
)
def test_parameters_and_result(signature, parameters, result):
    assert parameters_of(signature) == parameters
    assert result_of(signature) == result


@pytest.mark.parametrize(
    ("parameter", "name", "default"),
    [
        ("a", "a", None),
        ("a: int = 1", "a", "1"),
        ("*args", "args", None),
        ("**k: object", "k", None),
        ("b?: string", "b", None),
        ("...rest: T[]", "rest", None),
        ("f: (x: T) => void = g", "f", "g"),
        ("req *Request", "Request", None),
        ("check=a == b", "check", "a == b"),
    ],
)
def test_a_parameter(parameter, name, default):
    assert name_of_parameter(parameter) == name
    assert default_of(parameter) == default


@pytest.mark.parametrize(
    ("signature", "bases"),
    [
        ("class A(B, pkg.C, metaclass=M)", ["B", "pkg.C"]),
        ("class A(Generic[K, V])", ["Generic[K, V]"]),
        ("class A", []),
        ("export class A<T> extends B<T> implements C, D<X, Y> {", ["B<T>", "C", "D<X, Y>"]),
        ("public class A extends B implements C", ["B", "C"]),
        ("interface A extends B", ["B"]),
        ("export class A<T extends U = U, F = (x: T) => void> extends B<T, F>", ["B<T, F>"]),
        ("export interface $A<T extends U<V<W>> = X> {", []),
    ],
)
def test_bases(signature, bases):
    assert bases_of(signature) == bases


def test_a_whole_signature_is_read_from_its_lines():
    lines = [
        "    @decorated(1)",
        "    async def run(",
        "        self,",
        "        a: int = 1,  # the first",
        '        b: str = "(",',
        "    ) -> None:",
        "        call(a)",
    ]
    assert whole(lines, "run") == 'run( self, a: int = 1, b: str = "(", ) -> None'
    assert parameters_of(whole(lines, "run")) == ["a: int = 1", 'b: str = "("']
    assert whole(lines, "walk") is None
    assert whole(["def cut(", "    a,"], "cut") is None
