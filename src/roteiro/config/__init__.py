"""Configuration: keys declared once, layers merged by class, every value with its origin.

`load_config(cli=None, cwd=None) -> Config` is what other packages use. Knows no other part of Roteiro
but the errors.
"""

from roteiro.config.loading import LoadedConfig, load, load_config
from roteiro.config.schema import Config

__all__ = ["Config", "LoadedConfig", "load", "load_config"]
