"""The sandbox: helpers that published templates use, and bounds that a hostile one cannot pass."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import anyio
import pytest

from roteiro.chat.template import CHATML, load_template, normalise_source
from roteiro.chat.template.budget import Budget
from roteiro.chat.template.sandbox import TemplateRefusal, TemplateRunaway
from roteiro.errors import TemplateError

USER = [{"role": "user", "content": "hi"}]
NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


def render(source: str, **variables: object) -> str:
    return load_template(source, bos_token="<s>", eos_token="</s>").render(USER, None, variables, now=NOW)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('{{ strftime_now("%Y-%m-%d") }}', "2026-03-04"),
        ("{{ date_string }}", "04 Mar 2026"),
        ("{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "1"),
        ("{% for i in [1, 2, 3] %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "13"),
        ("{% generation %}a{{ 1 }}{% endgeneration %}b", "a1b"),
        ('{{ {"a": "<&é\'"} | tojson }}', '{"a": "<&é\'"}'),
        ('{{ {"b": 1, "a": [1]} | tojson(separators=(",", ":"), sort_keys=true) }}', '{"a":[1],"b":1}'),
        ('{{ {"a": 1} | tojson(indent=2) }}', '{\n  "a": 1\n}'),
        ('{{ "é" | tojson(ensure_ascii=true) }}', '"\\u00e9"'),
        ("{{ missing | tojson }}", "null"),
        ("{{ bos_token }}{{ eos_token }}", "<s></s>"),
        ('{{ " a b ".strip().split(" ")[1].upper().startswith("B") }}', "True"),
        ("{% for k, v in {'a': 1}.items() %}{{ k ~ v }}{% endfor %}", "a1"),
        ("{% for k, v in {'a': 1} | items %}{{ k }}{{ v }}{% endfor %}", "a1"),
        (
            "{% set ns = namespace(x=1) %}{% for i in range(3) %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
            "4",
        ),
        (
            "{% macro f(function, context=3) %}{{ function }}{{ context }}{% endmacro %}{{ f(function=1) }}",
            "13",
        ),
        ("{% if true %}\n    x\n    {% endif %}", "    x\n"),
        ('{{ "a,b" | replace(",", ";") }}{{ ["a", "b"] | join("-") }}', "a;ba-b"),
        ('{{ "%s and %d" | format("a", 3) }}{{ "{:>3}".format(1) }}', "a and 3  1"),
        ('{{ messages | map(attribute="role") | list | tojson }}', '["user"]'),
        ('{{ messages | selectattr("role", "equalto", "user") | list | length }}', "1"),
        ("{{ messages[::-1][0].content[:1] }}", "h"),
        ('{{ "[1]" | fromjson | first }}', "1"),
        ("{{ tools is none }}", "True"),
        ("{% for m in messages recursive %}{{ m.role }}{% endfor %}", "user"),
        ("{% set x %}a{{ 1 }}{% endset %}{{ x | length }}", "2"),
    ],
)
def test_helpers(source: str, expected: str):
    assert render(source) == expected


def test_kwargs_are_visible():
    assert render("{{ a.b }}{{ enable_thinking }}", a={"b": 1}, enable_thinking=False) == "1False"


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 'a' * 10 ** 10 }}",
        "{{ [0] * 10 ** 10 }}",
        "{{ 10 ** 10 ** 10 ** 10 ** 10 }}",
        "{{ 2 ** (2 ** 40) }}",
        "{% set n = namespace(x='aaaaaaaaaa') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{% set n = namespace(x='aaaaaaaaaa') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{{ '%999999999d' | format(3) }}",
        "{{ '%999999999d' % 3 }}",
        "{{ '{:>999999999}'.format(3) }}",
        "{{ 'x'.center(999999999) }}",
        "{{ 'x'.zfill(999999999) }}",
        "{{ 'a' | replace('a', 'b' * 100000) | replace('b', 'c' * 100000) }}",
        "{{ ('b' * 100000).replace('b', 'c' * 100000) }}",
        "{% set big = 'b' * 1000000 %}{% for i in range(100) %}{{ big }}{% endfor %}",
        "{% macro m() %}{{ 'b' * 1000000 }}{% endmacro %}{% for i in range(5000) %}{% set x = m() %}{% endfor %}",
        "{{ {'a': 1} | tojson(indent=100000000) }}",
    ],
)
def test_a_runaway_ends_itself(source: str):
    started = time.monotonic()
    with pytest.raises(TemplateRunaway) as caught:
        render(source)
    assert time.monotonic() - started < 8
    assert caught.value.hint


def test_recursion_that_doubles_runs_into_the_clock(monkeypatch: pytest.MonkeyPatch):
    template = load_template(
        "{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}"
    )
    with pytest.raises(TemplateRunaway, match="longer than"):
        template.render(USER, budget=Budget(0.2))


# A list of a billion parts, made of sixty lists.
_DOUBLED = "{% set ns = namespace(a=[1]) %}{% for i in range(30) %}{% set ns.a = [ns.a, ns.a] %}{% endfor %}"


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ ''.__class__.__base__ }}",
        "{{ [1].sort() }}",
        "{{ {'a': 1}.popitem() }}",
        "{% set l = [1] %}{% set _ = l.extend(l | map('string')) %}",
        "{% set ns = namespace(l=[1] * 1000) %}{% for i in range(60) %}{% set _ = ns.l.extend(ns.l) %}{% endfor %}",
        "{% set l = [1] %}{% for x in l %}{% set _ = l.append(x) %}{% endfor %}",
        "{{ x.y }}",
        "{% include 'x' %}",
        "{{ 1 / 0 }}",
        "{{ cycler.__init__.__globals__ }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ range(10 ** 9) | list }}",
    ],
)
def test_what_the_sandbox_forbids_or_python_refuses_is_a_template_error(source: str):
    with pytest.raises(TemplateError):
        render(source)


def test_a_template_may_change_its_own_copies_and_nobody_elses():
    template = load_template(
        "{% set queue = namespace(ids=[]) %}{% for m in messages %}{% set _ = queue.ids.append(m.role) %}"
        "{% set _ = m.update({'content': 'changed'}) %}{% endfor %}{% set _ = messages.append({'content': 'more'}) %}"
        "{% set _ = tools[0].pop('type') %}{{ queue.ids.pop(0) }} {{ messages | map(attribute='content') | join(' ') }}"
    )
    messages, tools = [{"role": "user", "content": "hi"}], [{"type": "function"}]
    for _ in range(2):
        assert template.render(messages, tools) == "user changed more"
    assert (messages, tools) == ([{"role": "user", "content": "hi"}], [{"type": "function"}])


def test_the_templates_own_words():
    with pytest.raises(TemplateRefusal, match="Roles must alternate") as caught:
        render('{{ raise_exception("Roles must alternate") }}')
    assert caught.value.details["template_message"] == "Roles must alternate"


@pytest.mark.parametrize(
    "source", ["{{ ((", "{% for %}", "{% nonsense %}", "{{ 'a' | no_such_filter }}", "{{" + "(" * 5000]
)
def test_what_is_no_template_says_so(source: str):
    with pytest.raises(TemplateError, match="cannot be compiled"):
        load_template(source)


def test_a_huge_source_is_refused():
    with pytest.raises(TemplateError, match="characters"):
        load_template("x" * (1 << 21))


def test_constants_are_not_folded_while_compiling():
    assert load_template("{% if false %}{{ 'a' * 10 ** 10 }}{% endif %}ok").render(USER) == "ok"


def test_newlines_are_normalised():
    assert normalise_source("a\r\nb\rc\n\n") == "a\nb\nc\n"
    assert load_template("a\r\nb\n").source == "a\nb"


def test_no_template_is_chatml_with_a_warning():
    for nothing in (None, {}, "", {"default": " "}):
        template = load_template(nothing)
        assert template.source == CHATML
        assert template.warnings
        assert template.render(USER) == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"


def test_a_broken_secondary_template_does_not_stop_the_load():
    template = load_template({"default": "{{ messages[0].content }}", "tool_use": "{{ ((", "rag": "{{ (("})
    assert template.render(USER) == "hi"
    assert template.for_tools() is template
    assert len(template.warnings) == 1


def test_a_named_tool_use_template_is_taken_for_tools():
    template = load_template({"default": "plain", "tool_use": "with tools"})
    assert template.for_tools().render(USER) == "with tools"
    assert template.render(USER) == "plain"


@pytest.mark.anyio
async def test_a_runaway_template_does_not_hold_the_event_loop():
    from roteiro.chat.messages import Message
    from roteiro.chat.rendering import render as render_prompt

    template = load_template(
        "{% for i in range(99999) %}{% for j in range(99999) %}{{ loop.index }}{% endfor %}{% endfor %}"
    )
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.01)
            ticks += 1

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        with pytest.raises(TemplateRunaway):
            await render_prompt(template, [Message(role="user", content="hi")])
        group.cancel_scope.cancel()
    assert ticks > 5
