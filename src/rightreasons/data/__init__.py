"""What goes in: benchmarks, a user's own data, suites and perturbations. Dataset in, Dataset out; no torch here.

The public names are those of `__init__.pyi`; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
