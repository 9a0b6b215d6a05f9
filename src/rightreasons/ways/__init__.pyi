from .measure import measure_ways as measure_ways
from .options import WaysOptions as WaysOptions
from .spread import format_spread as format_spread
from .spread import prompt_sensitivity as prompt_sensitivity

__all__ = [
    "WaysOptions",
    "format_spread",
    "measure_ways",
    "prompt_sensitivity",
]
