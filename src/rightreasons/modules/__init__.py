"""The evaluate modules: found and loaded, and what each of them is made of.

The public names are those of `__init__.pyi`; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
