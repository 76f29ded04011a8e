"""Resolution in Python: what binds, what is left open, and who counts as the caller."""

from __future__ import annotations

from textwrap import dedent

import pytest

from fakes.language_tree import edges_of, read_sources


def edges(**sources: str) -> set[str]:
    files = {
        name.replace("__", "/").replace("INIT", "__init__") + ".py": dedent(text)
        for name, text in sources.items()
    }
    return edges_of(read_sources(files))


def calls(**sources: str) -> set[str]:
    return {edge for edge in edges(**sources) if " calls" in edge}


def test_the_same_name_in_another_file_is_not_meant() -> None:
    found = calls(
        a="""
        def target(): ...
        def user(): target()
        """,
        b="""
        def target(): ...
        """,
    )
    assert found == {"a.py#user calls a.py#target"}


def test_an_undefined_name_binds_to_nothing() -> None:
    assert calls(a="def user(): target()", b="def target(): ...") == set()


def test_identical_classes_in_two_modules_stay_apart() -> None:
    text = """
    class Box:
        def open(self): ...
    def use(): Box().open()
    """
    assert calls(a=text, b=text) == {
        f"{name}.py#use calls {name}.py#{target}" for name in "ab" for target in ("Box", "Box.open")
    }


def test_a_wrapper_calls_the_module_function_of_the_same_name() -> None:
    found = calls(
        tools="def dispatch(x): ...",
        app="""
        import tools
        def dispatch(x): return tools.dispatch(x)
        """,
    )
    assert found == {"app.py#dispatch calls tools.py#dispatch"}


@pytest.mark.parametrize(
    "text",
    [
        "def user(): return sorted(x, key=lambda item: target(item))",
        "def user(): return [target(x) for x in y if x]",
        "def user(): return {target(x): 1 for x in y}",
        "def user(): return any(target(x) for x in y)",
        "def user(value=target()): ...",
        "@target\ndef user(): ...",
        "@target()\ndef user(): ...",
        "@other(target())\ndef user(): ...",
        "def user():\n    run(callback=lambda: target())",
        "def user():\n    with target() as x: ...",
        "def user():\n    yield target()",
        "async def user():\n    await target()",
        "def user():\n    return f'{target()}'",
        "def user():\n    match target():\n        case 1: ...",
    ],
)
def test_calls_belong_to_the_enclosing_symbol(text: str) -> None:
    found = calls(a="def target(): ...\n" + text)
    assert found == {"a.py#user calls a.py#target"}


def test_module_level_calls_belong_to_the_file() -> None:
    assert calls(a="def f(): ...\nf()") == {"file:a.py calls a.py#f"}


def test_a_nested_function_is_its_own_caller_and_nested_names_stay_apart() -> None:
    found = calls(
        a="""
        def one():
            def inner(): helper()
            inner()
        def two():
            def inner(): ...
            inner()
        def helper(): ...
        """
    )
    assert found == {
        "a.py#one.inner calls a.py#helper",
        "a.py#one calls a.py#one.inner",
        "a.py#two calls a.py#two.inner",
    }


def test_builtins_and_third_party_names_never_bind_to_a_bare_name() -> None:
    found = calls(
        a="""
        import requests
        from requests import get
        def f(x):
            print(x); open(x); requests.get(x); get(x); x.append(1); "".join(x); [].sort()
        """,
        b="""
        class Any:
            def append(self): ...
            def join(self): ...
            def sort(self): ...
        def get(): ...
        def print(): ...
        def open(): ...
        """,
    )
    assert found == set()


def test_a_module_named_like_the_standard_library_elsewhere_is_not_meant() -> None:
    found = edges(app__main="import logging\nlogging.info('x')", tools__logging="def info(): ...")
    assert not [edge for edge in found if "tools/logging.py" in edge and "app/main.py" in edge]


def test_imports_relative_aliased_starred_and_reexported() -> None:
    found = calls(
        pkg__INIT="from .core import make as build\nfrom .more import *\n",
        pkg__core="def make(): ...",
        pkg__more="__all__ = ['shown']\ndef shown(): ...\ndef hidden(): ...",
        pkg__sub__INIT="",
        pkg__sub__deep="from ..core import make\nfrom ... import nothing\ndef f(): make()",
        app="""
        import pkg
        import pkg.core as c
        from pkg import build, shown
        from pkg.more import *
        def f():
            build(); shown(); c.make(); pkg.build(); pkg.core.make(); hidden()
        """,
    )
    assert found == {
        "app.py#f calls pkg/core.py#make",
        "app.py#f calls pkg/more.py#shown",
        "pkg/sub/deep.py#f calls pkg/core.py#make",
    }


def test_modules_that_import_from_one_another_end() -> None:
    found = calls(a="from b import f\nfrom b import *\ndef g(): f()", b="from a import f\nfrom a import *")
    assert found == set()


def test_self_cls_super_along_the_bases() -> None:
    found = calls(
        base="""
        class Top:
            def run(self): self.step()
            def step(self): ...
            @classmethod
            def make(cls): return cls()
        """,
        app="""
        from base import Top
        class Mixin:
            def extra(self): ...
        class Leaf(Mixin, Top):
            def step(self):
                super().step()
                self.run()
                self.extra()
                self.make().run()
        def f(): Leaf.make().extra()
        """,
    )
    assert found == {
        "base.py#Top.run calls base.py#Top.step",
        "base.py#Top.make calls base.py#Top",
        "app.py#Leaf.step calls base.py#Top.step",
        "app.py#Leaf.step calls base.py#Top.run",
        "app.py#Leaf.step calls base.py#Top.make",
        "app.py#Leaf.step calls app.py#Mixin.extra",
        "app.py#f calls base.py#Top.make",
        "app.py#f calls app.py#Mixin.extra",
    }


def test_types_stated_and_constructed() -> None:
    found = calls(
        a="""
        from __future__ import annotations
        from typing import Optional
        class Pool:
            def get(self) -> Conn: ...
            def all(self) -> list[Conn]: ...
            def __enter__(self): return self
            def __exit__(self, *a): ...
        class Conn:
            def send(self): ...
            @property
            def pool(self) -> Pool: ...
        class Client:
            conns: dict[str, Conn]
            def __init__(self, pool: Pool, other: "Optional[Conn]" = None):
                self.pool = pool
                self.own = Pool()
                self.other = other
            def f(self):
                self.pool.get().send()
                self.own.get()
                self.other.send()
                self.conns["a"].pool.all()
                for conn in self.pool.all():
                    conn.send()
                with Pool() as p:
                    p.get()
        def g(x: Conn | None): x.send()
        """
    )
    assert {edge for edge in found if "Client.f" in edge} == {
        f"a.py#Client.f calls a.py#{name}" for name in ("Pool.get", "Conn.send", "Pool.all", "Pool")
    }
    assert "a.py#g calls a.py#Conn.send" in found


def test_an_unknown_receiver_is_inferred_and_several_share_the_confidence() -> None:
    found = calls(
        a="""
        class One:
            def frobnicate(self): ...
        class Two:
            def frobnicate(self): ...
        def f(x): x.frobnicate()
        """
    )
    assert found == {"a.py#f calls? a.py#One.frobnicate", "a.py#f calls? a.py#Two.frobnicate"}


def test_a_known_receiver_without_the_member_is_not_guessed() -> None:
    found = calls(
        a="""
        import socket
        class Other:
            def frobnicate(self): ...
        class Own: ...
        def f(x: Own, y: socket.socket):
            x.frobnicate()
            y.frobnicate()
            socket.socket().frobnicate()
        """
    )
    assert found == set()


def test_definitions_in_both_branches_are_both_candidates() -> None:
    found = calls(
        a="""
        if x:
            def f(): ...
        else:
            def f(): ...
        def g(): f()
        """
    )
    assert found == {"a.py#g calls? a.py#f", "a.py#g calls? a.py#f~2"}


def test_the_last_plain_definition_is_in_force() -> None:
    found = calls(a="def f(): ...\ndef f(): ...\ndef g(): f()")
    assert found == {"a.py#g calls a.py#f~2"}


def test_a_local_name_hides_the_outer_one() -> None:
    found = calls(
        a="""
        def target(): ...
        def f(target): target()
        def g():
            target = 3
            target()
        def h(): return [target() for target in x]
        """
    )
    assert found == set()


def test_values_passed_are_references_and_constants_are_found() -> None:
    found = edges(
        a="LIMIT = 3\ndef f(): ...", b="import a\nfrom a import f, LIMIT\nx = run(f, a.LIMIT, LIMIT)"
    )
    assert "file:b.py references a.py#f" in found
    assert "file:b.py references a.py#LIMIT" in found
    assert "file:b.py calls a.py#f" not in found


def test_inherits_and_imports() -> None:
    found = edges(
        base="class Top: ...\nclass Generic: ...",
        app="import base\nfrom base import Top as T\nclass A(T, base.Generic): ...",
    )
    assert {edge for edge in found if "inherits" in edge or "imports" in edge} == {
        "app.py#A inherits base.py#Top",
        "app.py#A inherits base.py#Generic",
        "file:app.py imports file:base.py",
        "file:app.py imports base.py#Top",
    }
