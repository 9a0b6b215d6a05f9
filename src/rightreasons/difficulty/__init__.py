"""Which examples is it fragile on?

The public names are those of `__init__.pyi`; each is imported when it is first used.
"""

from rightreasons.core.errors import facade

__getattr__, __dir__, __all__ = facade(__name__, __file__)
