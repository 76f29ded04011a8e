from __future__ import annotations

import functools

from . import prices as p


def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


class Base:
    def open(self) -> Base:
        return self

    def close(self):
        pass


class Cart(Base):
    """What is bought."""

    def __init__(self, owner: Owner | None = None):
        self.owner = owner or Owner()
        self.lines = []

    @property
    def first(self) -> Owner:
        return self.owner

    @logged
    def pay(self):
        self.close()
        self.first.greet()
        return p.total(self.lines)

    def open(self):
        super().open().close()
        print(len(self.lines))
        return self


class Owner:
    def greet(self):
        def inner():
            return self

        return inner()


def serve(handler=logged):
    def inner():
        return Cart().open().pay()

    callbacks = [lambda cart: cart.unknown_to_all(), inner]
    return callbacks
