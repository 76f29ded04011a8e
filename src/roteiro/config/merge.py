"""Merges layers into effective values, each with its origin and with what was overruled.

Pure: no file, no environment. The rule of each class of key stands in one function. Thread: any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from roteiro.config.keys import (
    KEYS,
    CapabilityKey,
    IntersectionKey,
    Key,
    MergedListKey,
    UserOnlyKey,
    ValueKey,
)
from roteiro.config.layers import Layer

# From the strongest to the weakest.
PRECEDENCE = ("cli", "project", "user")


@dataclass(frozen=True, slots=True, kw_only=True)
class Overruled:
    """A layer's entry that did not become the effective value, and why."""

    layer: str
    value: Any
    why: str
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """A key's effective value. `origin` is a layer's name, `default`, or layers joined with `+`."""

    key: Key
    value: Any
    origin: str
    overruled: tuple[Overruled, ...] = ()


def merge(layers: Sequence[Layer]) -> dict[str, Effective]:
    """The effective value of every key, by name. Order of `layers` does not matter."""
    by_name = {layer.name: layer for layer in layers}
    ordered = [by_name[name] for name in PRECEDENCE if name in by_name]
    return {key.name: _resolve(key, ordered) for key in KEYS}


@singledispatch
def _resolve(key: Key, layers: Sequence[Layer]) -> Effective:
    raise TypeError(f"{key!r} has no class")


@_resolve.register
def _value(key: ValueKey, layers: Sequence[Layer]) -> Effective:
    refused: list[Overruled] = []
    usable: list[Layer] = []
    for layer in layers:
        why = None
        if key.name in layer.values and layer.name == "project" and key.project_refuses:
            why = key.project_refuses(layer.values[key.name])
        if why:
            refused.append(_overruled(key, layer, why))
        else:
            usable.append(layer)
    return _first(key, usable, refused)


@_resolve.register
def _user_only(key: UserOnlyKey, layers: Sequence[Layer]) -> Effective:
    refused = [
        _overruled(key, layer, "a project file may not set this key")
        for layer in layers
        if layer.name == "project" and key.name in layer.values
    ]
    return _first(key, [layer for layer in layers if layer.name != "project"], refused)


@_resolve.register
def _capability(key: CapabilityKey, layers: Sequence[Layer]) -> Effective:
    grant = _first(key, [layer for layer in layers if layer.name != "project"], [])
    project = next((la for la in layers if la.name == "project" and key.name in la.values), None)
    if project is None:
        return grant
    asked = project.values[key.name]
    value = key.lower(grant.value, asked)
    if value == grant.value:
        if asked == grant.value:
            return grant
        why = "a project file may lower this capability, never raise it"
        return Effective(
            key=key,
            value=value,
            origin=grant.origin,
            overruled=(*grant.overruled, _overruled(key, project, why)),
        )
    lowered = Overruled(layer=grant.origin, value=grant.value, why="lowered by the project file")
    return Effective(key=key, value=value, origin="project", overruled=(*grant.overruled, lowered))


@_resolve.register
def _intersection(key: IntersectionKey, layers: Sequence[Layer]) -> Effective:
    value, origins = key.default, []
    for layer in reversed(layers):
        narrowed = layer.values.get(key.name)
        if narrowed is None:
            continue
        origins.append(layer.name)
        value = narrowed if value is None else tuple(v for v in value if v in narrowed)
    return Effective(key=key, value=value, origin="+".join(origins) or "default")


@_resolve.register
def _merged_list(key: MergedListKey, layers: Sequence[Layer]) -> Effective:
    items: list[str] = list(key.default)
    origins: list[str] = []
    overruled: list[Overruled] = []
    for layer in reversed(layers):
        if layer.values.get(key.reset):
            why = f"{key.reset} in the {layer.name} layer"
            overruled += [_overruled(key, la, why) for la in layers if la.name in origins]
            items, origins = [], []
        if key.name in layer.values:
            items += [item for item in layer.values[key.name] if item not in items]
            origins.append(layer.name)
    origin = "+".join(origins) or "default"
    return Effective(key=key, value=tuple(items), origin=origin, overruled=tuple(overruled))


def _first(key: Key, layers: Sequence[Layer], refused: list[Overruled]) -> Effective:
    setting = [layer for layer in layers if key.name in layer.values]
    if not setting:
        value, origin = key.default, "default"
    else:
        value, origin = setting[0].values[key.name], setting[0].name
    beaten = [_overruled(key, layer, f"the {origin} layer wins") for layer in setting[1:]]
    return Effective(key=key, value=value, origin=origin, overruled=(*refused, *beaten))


def _overruled(key: Key, layer: Layer, why: str) -> Overruled:
    where: Mapping[str, str] = layer.where
    return Overruled(layer=layer.name, value=layer.values[key.name], why=why, where=where.get(key.name, ""))
