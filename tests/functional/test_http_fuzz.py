"""The OpenAPI document fuzzed by schemathesis against a real socket: no 5xx for anything a client sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error

from fakes.served import serving

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default::DeprecationWarning"),
    pytest.mark.filterwarnings("default::ResourceWarning"),
]

EXAMPLES = 15


def exercise(operation: Any, mode: GenerationMode) -> None:
    """Send generated requests to one operation."""

    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        response = case.call(timeout=10)
        assert response.status_code != 501
        case.validate_response(response, checks=[not_a_server_error])
        if response.status_code >= 400:
            assert set(response.json()) == {"error"}

    send()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_request_of_a_client_is_a_server_error(tmp_path: Path, mode: GenerationMode) -> None:
    with serving(tmp_path, request_timeout_s=5) as served:
        schema = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
        tried = 0
        for found in schema.get_all_operations():
            operation = found.ok()
            try:
                exercise(operation, mode)
            except hypothesis.errors.Unsatisfiable:
                continue  # nothing can be wrong with a request that takes nothing
            tried += 1
        assert tried >= 8
        with served.client() as client:
            assert client.get("/health").status_code == 200
        assert not served.busy()
