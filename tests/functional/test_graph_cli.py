"""The graph's commands as a user runs them: what they print, the shapes of their JSON, exit codes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import networkx as nx
import pytest
from typer.testing import CliRunner, Result

from fakes import sample_graph as s
from roteiro.cli.main import app
from roteiro.graph.model import EDGE_KINDS, MARKER_CATEGORIES, NODE_KINDS

TEXT, NUMBER, MAYBE_TEXT, MAYBE_NUMBER = (
    {"type": "string"},
    {"type": "integer"},
    {"type": ["string", "null"]},
    {"type": ["integer", "null"]},
)
LINE = {"type": "integer", "minimum": 1}
PROVENANCE = {"enum": ["derived", "authored", "inferred"]}
CONFIDENCE = {"type": ["number", "null"], "exclusiveMinimum": 0, "exclusiveMaximum": 1}


def exactly(**fields: Any) -> dict[str, Any]:
    """An object with these fields at least."""
    return {"type": "object", "properties": fields, "required": list(fields)}


def listed(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def answer(**fields: Any) -> dict[str, Any]:
    return exactly(schema={"const": "roteiro.query/v1"}, stale={"type": "boolean"}, **fields)


NODE_FIELDS: dict[str, Any] = {
    "key": TEXT, "kind": {"enum": list(NODE_KINDS)}, "name": TEXT, "path": TEXT,
    "line": MAYBE_NUMBER, "end_line": MAYBE_NUMBER, "lang": MAYBE_TEXT, "signature": MAYBE_TEXT,
    "doc": MAYBE_TEXT,
}  # fmt: skip
NODE = {
    **exactly(**NODE_FIELDS),
    "if": {"properties": {"kind": {"enum": ["adr", "adr_section"]}}},
    "then": {"required": ["number", "title", "status"]},
}
END = exactly(
    kind={"enum": list(EDGE_KINDS)}, provenance=PROVENANCE, confidence=CONFIDENCE, node=TEXT,
    defined_at={"type": "string", "pattern": r"^.+:[0-9]+$"}, path=TEXT, line=LINE, sites=LINE,
)  # fmt: skip
ITEM = exactly(
    key=TEXT, category={"enum": list(MARKER_CATEGORIES)}, text=TEXT, path=TEXT, line=LINE,
    symbol=MAYBE_TEXT,
)  # fmt: skip
COUNTS = {"type": "object", "additionalProperties": NUMBER}
STEP = exactly(
    **{"from": TEXT, "to": TEXT, "reversed": {"type": "boolean"}}, kind={"enum": list(EDGE_KINDS)},
    provenance=PROVENANCE, path=TEXT, line=LINE,
)  # fmt: skip
HIT = exactly(**NODE_FIELDS, score={"type": "number"}, snippet=MAYBE_TEXT)
BLOCK = exactly(key=TEXT, path=TEXT, line=LINE, end_line=LINE, why=TEXT, text=TEXT)
FILE = exactly(path=TEXT, markers=NUMBER, lines=NUMBER, per_kloc={"type": "number"}, by_category=COUNTS)

SHAPES: list[tuple[list[str], dict[str, Any]]] = [
    (["search", "client"], answer(query=TEXT, total=NUMBER, hits=listed(HIT))),
    (["search", "adr", "transport", "--kind", "adr"], answer(total=NUMBER, hits=listed(HIT))),
    (
        ["explain", "Client"],
        answer(
            node=NODE, outgoing=listed(END), outgoing_total=NUMBER, incoming=listed(END),
            incoming_total=NUMBER, markers=listed(ITEM), decisions=listed(NODE),
        ),
    ),
    (
        ["path", "test_send", "connect"],
        answer(
            **{"from": NODE, "to": NODE}, found={"const": True}, reason={"const": "connected"},
            steps=listed(STEP),
        ),
    ),
    (
        ["context", "Client", "--budget", "300"],
        answer(subject=NODE, query=TEXT, budget={"const": 300}, tokens=NUMBER, blocks=listed(BLOCK)),
    ),
    (
        ["context", "how", "is", "a", "socket", "opened"],
        answer(subject={"type": "null"}, blocks=listed(BLOCK)),
    ),
    (["debt"], answer(total=NUMBER, by_category=COUNTS, items=listed(ITEM))),
    (
        ["debt-density"],
        answer(order={"const": "density"}, total_markers=NUMBER, items=listed(FILE)),
    ),
    (["list", "adr"], answer(kind={"const": "adr"}, total=NUMBER, nodes=listed(NODE))),
    (
        ["export"],
        answer(
            nodes=listed(exactly(id=TEXT, **NODE_FIELDS)),
            edges=listed(
                exactly(
                    source=TEXT, target=TEXT, kind=TEXT, provenance=PROVENANCE, confidence=CONFIDENCE,
                    path=TEXT, line=LINE, sites=LINE,
                )
            ),
        ),
    ),
]  # fmt: skip

EXPLAINED = """\
class Client
  pkg/client.py:8-21
  sym:python:pkg/client.py#Client
  class Client
  Sends requests and follows redirects.

outgoing: 4
  authored_by  -> adr:0007         docs/adr/0007-one-transport.md:1  docs/adr/0007-one-transport.md:7  authored
  contains     -> Client.__init__  pkg/client.py:11                  pkg/client.py:11                  derived
  contains     -> Client.send      pkg/client.py:14                  pkg/client.py:14                  derived
  contains     -> Client.close     pkg/client.py:19                  pkg/client.py:19                  derived

incoming: 3
  calls       <- test_send         tests/test_client.py:1            tests/test_client.py:2            derived
  references  <- adr:0007#context  docs/adr/0007-one-transport.md:5  docs/adr/0007-one-transport.md:7  authored
  contains    <- pkg/client.py     pkg/client.py:1                   pkg/client.py:8                   derived

decisions
  adr:0007          docs/adr/0007-one-transport.md:1  Use one transport  Accepted
  adr:0007#context  docs/adr/0007-one-transport.md:5  Use one transport

debt
  pkg/client.py:16  todo  TODO: retry on failure
"""
DEBT = """\
pkg/client.py:16    todo  TODO: retry on failure
pkg/transport.py:5  hack  HACK: no pool
pkg/transport.py:9  stub  raise NotImplementedError

3 in all: 1 todo, 1 hack, 1 stub
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    s.sample_graph(tmp_path).close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(("arguments", "shape"), SHAPES, ids=lambda value: " ".join(value)[:30])
def test_json_has_the_promised_shape(tree: Path, arguments: list[str], shape: dict[str, Any]) -> None:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    jsonschema.validate(document, shape, cls=jsonschema.Draft202012Validator)
    for name, values in document.items():
        assert values != [] or name not in shape["properties"], "a shape is only proved by items"


def test_explain_prints_who_uses_it_and_what_it_uses(tree: Path) -> None:
    assert run("explain", "Client").stdout == EXPLAINED


def test_nothing_found_is_said_and_never_called_unused(tree: Path) -> None:
    output = run("explain", "unrelated").stdout
    for title in ("outgoing", "incoming", "decisions", "debt"):
        assert f"{title}: none found" in output
    assert "unused" not in output


def test_debt_prints_places_and_counts(tree: Path) -> None:
    assert run("debt").stdout == DEBT


def test_debt_leaves_out_what_the_configuration_ignores(tree: Path) -> None:
    (tree / "roteiro.toml").write_text('[debt]\nignore = ["pkg/transport.py"]\n', encoding="utf-8")
    assert json.loads(run("debt", "--json").stdout)["by_category"] == {"todo": 1}
    assert json.loads(run("debt-density", "--json").stdout)["total_markers"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["search", "photosynthesis"], 1, "nothing found for 'photosynthesis'"),
        (["search", "x", "--kind", "klass"], 2, "'klass' is no kind"),
        (["search", "x", "--limit", "-1"], 2, "cannot be negative"),
        (["explain", "mask_secrts"], 1, "Did you mean: mask_secrets?"),
        (["explain", "close"], 2, "'close' names 2 nodes"),
        (["path", "test_send", "unrelated"], 1, "no path"),
        (["path", "test_send", "connect", "--directed", "--max-depth", "2"], 1, "not within 2 steps"),
        (["path", "close", "connect"], 2, "'close' names 2 nodes"),
        (["context", "photosynthesis"], 1, "Nothing in the graph is called 'photosynthesis'"),
        (["debt", "--kind", "bug"], 2, "'bug' is no category"),
        (["list", "thing"], 2, "'thing' is no kind"),
        (["export", "--format", "yaml"], 2, "'yaml' is no format"),
        (["export", "--format", "dot", "--json"], 2, "say different things"),
    ],
)
def test_exit_codes_and_what_is_said(tree: Path, arguments: list[str], code: int, said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == code
    assert said in result.stderr


@pytest.mark.parametrize("arguments", [["list", "enum"], ["debt", "--kind", "fixme"]])
def test_an_empty_list_is_no_failure(tree: Path, arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 0
    assert json.loads(run(*arguments, "--json").stdout)["total"] == 0


def test_an_ambiguous_name_lists_its_nodes(tree: Path) -> None:
    result = run("explain", "close", "--json")
    document = json.loads(result.stdout)
    jsonschema.validate(document, answer(ambiguous=listed(NODE)))
    assert [node["key"] for node in document["ambiguous"]] == [s.CLOSE, s.T_CLOSE]
    assert json.loads(result.stderr.splitlines()[-1])["error"]["code"] == "ambiguous"


def test_a_path_not_found_still_answers_in_json(tree: Path) -> None:
    result = run("path", "test_send", "unrelated", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert (document["found"], document["reason"], document["steps"]) == (False, "no_path", [])


@pytest.mark.parametrize(
    "arguments", [["search", "x"], ["explain", "x"], ["path", "a", "b"], ["context", "x"], ["debt"],
                  ["debt-density"], ["list", "file"], ["export"]],
)  # fmt: skip
def test_without_a_graph_sync_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 3
    assert "roteiro sync" in result.stderr
    error = json.loads(run(*arguments, "--json").stderr)["error"]
    assert error["code"] == "no_graph"


def test_a_subfolder_asks_the_whole_tree(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "pkg")
    assert json.loads(run("explain", "test_send", "--json").stdout)["node"]["path"] == s.TEST


def test_search_pages_and_says_what_is_left(tree: Path) -> None:
    result = run("search", "transport", "--limit", "1")
    assert len(result.stdout.splitlines()) == 1
    assert "--offset 1 goes on" in result.stderr


def test_exports_are_written_to_files_and_read_by_others(tree: Path) -> None:
    assert run("export", "-o", "graph.json").exit_code == 0
    document = json.loads((tree / "graph.json").read_text(encoding="utf-8"))
    assert nx.node_link_graph(document, edges="edges").number_of_edges() == 19
    graphml = run("export", "--format", "graphml").stdout
    assert nx.read_graphml(io.BytesIO(graphml.encode())).number_of_nodes() == 17
    assert run("export", "-o", "no/such/folder/x").exit_code == 2


def test_control_characters_of_a_repository_are_shown_and_not_obeyed(tree: Path) -> None:
    source = tree / "pkg" / "client.py"
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[15] = "        # TODO: retry on failure \x1b[2J\x07\n"
    source.write_text("".join(lines), encoding="utf-8")
    shown = run("search", "retry", "on", "failure").stdout
    assert "\x1b" not in shown
    assert "\\x1b[2J\\x07" in shown


def test_markup_in_names_is_text(tree: Path) -> None:
    result = run("search", "[bold]nothing[/bold]")
    assert result.exit_code == 1
    assert "[bold]nothing[/bold]" in result.stderr
