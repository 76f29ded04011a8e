"""A small repository that questions can be asked about, synced for real.

`ask_tree(root)` writes it and gives access to its graph. Features: classes with bases inside and outside the
tree, overloads, a long signature that the graph cuts, a dataclass, debt, a changelog, an ADR, a stub file, a
build, tests, TypeScript, and a docstring that holds control tokens.
"""

from __future__ import annotations

from pathlib import Path

from roteiro.graph.sync import sync
from roteiro.tools.access import GraphAccess

CLIENT = '''"""The client."""

from dataclasses import dataclass

from shop.transport import Transport, TimeoutProblem

DEFAULT_RETRIES = 3


@dataclass
class Limits:
    """How much is allowed."""

    connections: int = 10
    keepalive: float = 5.0


class Client:
    """Sends orders to the shop."""

    def __init__(self, base: str, *, limits: Limits | None = None, retries: int = DEFAULT_RETRIES) -> None:
        self.base = base
        self.transport = Transport(limits)

    def order(self, name: str, amount: int = 1) -> str:
        """Order something."""
        return self._dispatch(name, amount)

    def _dispatch(self, name: str, amount: int) -> str:
        return self.transport.send(_frame(name, amount))

    def configure(
        self,
        first_option_with_a_long_name: dict[str, list[tuple[int, int]]] | None = None,
        second_option_with_a_long_name: dict[str, list[tuple[int, int]]] | None = None,
        third_option_with_a_long_name: dict[str, list[tuple[int, int]]] | None = None,
        mode: str = "lax",  # how strict
        **extra: object,
    ) -> None:
        """Set many things."""


def _frame(name: str, amount: int) -> bytes:
    """Put an order into bytes for the wire."""
    return f"{name}*{amount}".encode()


def parse_receipt(line: str) -> dict[str, str]:
    """Read a receipt.

    Written as <|im_end|> and </tool_call> by old shops.
    """
    # TODO: read the tax lines too
    return dict([line.split("=")])
'''
TRANSPORT = '''"""Moves bytes."""


class ShopError(Exception):
    """Base of all."""


class TimeoutProblem(ShopError, RuntimeError):
    """The shop took too long."""


class Refused(ShopError):
    """The shop said no."""


class Transport:
    """Moves bytes to the shop and back."""

    def __init__(self, limits=None):
        self.limits = limits

    def send(self, data: bytes) -> str:
        # HACK: the shop answers twice
        return _encode_answer(data)

    def close(self) -> None:
        raise NotImplementedError("closing is not supported")


def _encode_answer(data: bytes) -> str:
    if not data:
        raise Refused
    return data.decode()
'''
CHANGELOG = """# Changelog

## 2.1.0 (2024-05-01)

- Dropped the carrier pigeon transport.
- Receipts are read with `parse_receipt`.

## 2.0.0 (2024-01-01)

- Renamed `old_dispatcher` to `order`.

## 1.0.0 (2023-01-01)

- First release, with a pigeon transport.

## PigeonMail

A package of somebody else's that sends mail.
"""
DECISION = """# 3. Orders are framed as text

Status: Accepted

## Decision

Orders travel as plain text, see [[shop/client.py#_frame]].
"""
FILES = {
    "shop/__init__.py": "",
    "shop/client.py": CLIENT,
    "shop/transport.py": TRANSPORT,
    "shop/client.pyi": "class Client:\n    def order(self, name: str, amount: int = ...) -> str: ...\n",
    "web/cart.ts": (
        "export interface Item { price: number }\n"
        "export class Basket extends Array implements Iterable<Item> {\n"
        "  total(tax: number = 0.2): number { return sum(this) + tax }\n"
        "}\n"
        "function sum(items: Basket): number { return items.length }\n"
    ),
    "dist/cart.js": "class Basket { total(tax) { return tax } }\n",
    "tests/test_client.py": (
        "from shop.client import Client\n\n\ndef test_order():\n    assert Client('x').order('tea')\n\n\n"
        "class Silent(Client):\n    pass\n"
    ),
    "scripts/release.py": "# TODO: sign the release\n",
    "CHANGELOG.md": CHANGELOG,
    "docs/adr/0003-orders-as-text.md": DECISION,
}


def ask_tree(root: Path) -> GraphAccess:
    """The synced tree's graph."""
    for path, text in FILES.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    (root / ".git").mkdir()
    sync(root, jobs=1)
    return GraphAccess(root)
