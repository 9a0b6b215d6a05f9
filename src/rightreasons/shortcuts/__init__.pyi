from .detector import find_shortcuts as find_shortcuts
from .diagram import shortcut_diagram as shortcut_diagram
from .measure import measure_shortcuts as measure_shortcuts
from .measure_deciding import measure_swaps as measure_swaps
from .mutual_information import lmi as lmi
from .reliance import shortcut_reliance as shortcut_reliance
from .swaps import deciding_share as deciding_share
from .tradeoff import shortcut_tradeoff as shortcut_tradeoff
from .word_cues import measure_word_cues as measure_word_cues

__all__ = [
    "deciding_share",
    "find_shortcuts",
    "lmi",
    "measure_shortcuts",
    "measure_swaps",
    "measure_word_cues",
    "shortcut_diagram",
    "shortcut_reliance",
    "shortcut_tradeoff",
]
