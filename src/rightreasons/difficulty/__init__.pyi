from .contrast import contrast_consistency as contrast_consistency
from .contrast import measure_contrast_sets as measure_contrast_sets
from .measure import measure_difficulty as measure_difficulty
from .ranking import data_map as data_map
from .ranking import distribution_overlap as distribution_overlap
from .ranking import paired_difficulty as paired_difficulty
from .substitutions import substitution_tests as substitution_tests

__all__ = [
    "contrast_consistency",
    "data_map",
    "distribution_overlap",
    "measure_contrast_sets",
    "measure_difficulty",
    "paired_difficulty",
    "substitution_tests",
]
