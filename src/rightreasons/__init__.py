"""Is your language model right for the right reasons?

`rightreasons` brings tests of calibration, shortcut learning, superficial cues, answer priors,
difficulty and behavior into the Hugging Face ecosystem. Importing it is quick: neither torch nor
evaluate nor datasets is loaded before a function needs it. The public names are those of
`__init__.pyi`, here and in each wing.

Example:
    >>> import rightreasons
    >>> "ece" in rightreasons.available_modules()
    True
"""

from rightreasons.core.public_api import make_facade

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = make_facade(__name__, __file__)
__all__ += ["__version__"]
