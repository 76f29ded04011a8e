"""Prices."""

TAX = 0.2


def total(items, rate=TAX):
    """Sum up."""
    return sum(apply(item) for item in items) * rate


def apply(item):
    return item
