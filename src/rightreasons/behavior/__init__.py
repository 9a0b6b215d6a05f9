"""Does it pass basic behavioral tests, and does that generalize?

The public names are those of `__init__.pyi`; each is imported when it is first used.
"""

from rightreasons.core.public_api import make_facade

__getattr__, __dir__, __all__ = make_facade(__name__, __file__)
