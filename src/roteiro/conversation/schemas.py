"""Turns a client's JSON Schema into one that a grammar enforces exactly, or says where it cannot be.

What is narrowed is narrowed within the schema: whatever is generated is valid under the client's own.
Nothing runs unconstrained in silence. Pure apart from asking the grammar library; thread: any but the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roteiro.engine.guidance import schema_error
from roteiro.errors import InvalidRequest

# Deeper schemas are not written by people; the walk below is recursive.
MAX_DEPTH = 64

_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_SINGLES = ("items", "additionalProperties", "not", "if", "then", "else", "contains")


def enforceable(schema: Any, *, param: str, close: bool = False) -> Any:
    """The schema as the grammar is to enforce it.

    Args:
        schema: a JSON Schema as the client sent it.
        param: the request field it stands in, for messages.
        close: treat objects that list their properties as closed: small models go on inventing others.

    Raises:
        InvalidRequest: the schema, or the part of it that is named, cannot be enforced.
    """
    if schema is True:
        schema = {}
    if not isinstance(schema, dict):
        raise InvalidRequest(f"{param} must be a JSON Schema object; it is {schema!r:.80}.", param=param)
    narrowed = _narrow(schema, param, root=schema, close=close, depth=0)
    if schema_error(narrowed) is None:
        return narrowed
    path, reason = _deepest(narrowed, param, root=narrowed)
    raise InvalidRequest(
        f"{path} cannot be enforced: {reason.rstrip('.')}.",
        hint="Leave out or rewrite that part of the schema; nothing is generated unconstrained.",
        param=path,
    )


# ------------------------------------------------------------------------------------------------


def _narrow(schema: Any, path: str, *, root: Any, close: bool, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise InvalidRequest(f"{path} is nested deeper than {MAX_DEPTH} levels.", param=path)
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = dict(schema)
    inside_all = "allOf" in schema
    for key, part, where in _children(schema, path):
        closing = close and not (inside_all or "allOf" in key)
        narrowed = _narrow(part, where, root=root, close=closing, depth=depth + 1)
        _put(out, key, narrowed)
    if "oneOf" in out:
        _require_disjoint(out["oneOf"], f"{path}.oneOf", root)
        out["anyOf" if "anyOf" not in out else "oneOf"] = out.pop("oneOf")
    combined = any(key in schema for key in ("allOf", "anyOf", "oneOf", "$ref", "patternProperties"))
    if close and schema.get("properties") and "additionalProperties" not in schema and not combined:
        out["additionalProperties"] = False
    return out


def _children(schema: Mapping[str, Any], path: str) -> Iterator[tuple[tuple[str, Any], Any, str]]:
    """Every sub-schema with its place: ((key, index or name or None), schema, path)."""
    for key in _LISTS:
        if isinstance(schema.get(key), list):
            for number, part in enumerate(schema[key]):
                yield (key, number), part, f"{path}.{key}.{number}"
    for key in _MAPS:
        if isinstance(schema.get(key), dict):
            for name, part in schema[key].items():
                yield (key, name), part, f"{path}.{key}.{name}"
    for key in _SINGLES:
        if isinstance(schema.get(key), dict):
            yield (key, None), schema[key], f"{path}.{key}"


def _put(out: dict[str, Any], place: tuple[str, Any], part: Any) -> None:
    key, inner = place
    if inner is None:
        out[key] = part
        return
    copied = list(out[key]) if isinstance(out[key], list) else dict(out[key])
    copied[inner] = part
    out[key] = copied


def _require_disjoint(branches: Any, path: str, root: Mapping[str, Any]) -> None:
    """`oneOf` is enforced as `anyOf`, which is the same only where no value fits two branches."""
    if not isinstance(branches, list):
        return
    for number, left in enumerate(branches):
        for right in branches[number + 1 :]:
            if not _disjoint(_resolved(left, root), _resolved(right, root), root):
                raise InvalidRequest(
                    f"{path} cannot be enforced: a value may fit more than one of its branches.",
                    hint="Use anyOf, or give the branches different types or different consts.",
                    param=path,
                )


def _disjoint(left: Any, right: Any, root: Mapping[str, Any]) -> bool:
    if not (isinstance(left, dict) and isinstance(right, dict)):
        return False
    if _values(left) is not None and _values(right) is not None:
        return not any(
            a == b and type(a) is type(b) for a in _values(left) or () for b in _values(right) or ()
        )
    if _types(left) and _types(right) and not _types(left) & _types(right):
        return True
    shared = set(left.get("required", ())) & set(right.get("required", ()))
    return any(
        _disjoint(
            _resolved(left.get("properties", {}).get(name), root),
            _resolved(right.get("properties", {}).get(name), root),
            root,
        )
        for name in shared
    )


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    return schema["enum"] if isinstance(schema.get("enum"), list) else None


def _types(schema: Mapping[str, Any]) -> set[str]:
    given = schema.get("type")
    names = {given} if isinstance(given, str) else set(given or ())
    return names | {"number"} if "integer" in names else names


def _resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    """Follow one local `$ref`; anything else is returned as it is."""
    ref = schema.get("$ref") if isinstance(schema, dict) else None
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return schema
    target: Any = root
    for step in ref[2:].split("/"):
        if not isinstance(target, dict):
            return schema
        target = target.get(step.replace("~1", "/").replace("~0", "~"))
    return target


def _deepest(schema: Any, path: str, *, root: Mapping[str, Any]) -> tuple[str, str]:
    """The innermost part that fails by itself, with the reason."""
    for _, part, where in _children(schema, path) if isinstance(schema, dict) else ():
        alone = dict(part) if isinstance(part, dict) else part
        if isinstance(alone, dict):
            for key in ("$defs", "definitions"):
                if key in root and where.startswith(path):
                    alone.setdefault(key, root[key])
        if _fails_alone(alone, part, root):
            return _deepest(part, where, root=root)
    return path, schema_error(schema) or "it is not supported here"


def _fails_alone(alone: Any, part: Any, root: Mapping[str, Any]) -> bool:
    """Whether the part fails for its own sake, not for a definition that it only refers to."""
    if schema_error(alone) is None:
        return False
    if not isinstance(part, dict) or "$ref" not in part:
        return True
    return _resolved(part, root) is None
