from .sway import acknowledgment as acknowledgment
from .sway import early_answers as early_answers
from .sway import paired_difference as paired_difference
from .sway import phi_cct as phi_cct
from .sway import silent_sway as silent_sway
from .sway import transplant as transplant

__all__ = [
    "acknowledgment",
    "early_answers",
    "paired_difference",
    "phi_cct",
    "silent_sway",
    "transplant",
]
