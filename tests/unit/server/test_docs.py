"""docs/http-api.md names every route, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from fakes.served import make_runtime
from roteiro.server.app import create_app

DOCS = Path(__file__).parents[3] / "docs" / "http-api.md"


def test_every_route_is_documented_and_no_other(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, models=False)
    app = create_app(runtime)
    document = app.openapi()["paths"]
    routes = {(method.upper(), path) for path, ways in document.items() for method in ways}
    text = DOCS.read_text(encoding="utf-8")
    table = text.partition("| Route |")[2].partition("\n\n")[0]
    written = set(re.findall(r"(GET|POST) (/[\w/{}-]*)", table))
    served = {(method, path.replace("{model_id}", "{id}")) for method, path in routes}
    assert written == served
