"""Inference: tokens in, events out, over one native library behind ports."""
