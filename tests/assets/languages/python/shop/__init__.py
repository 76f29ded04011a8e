"""A shop."""

from .cart import Cart as Basket
from .prices import *

__all__ = ["Basket", "total"]
