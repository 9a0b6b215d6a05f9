from .callbacks import DataMapCallback as DataMapCallback
from .callbacks import ShortcutCallback as ShortcutCallback
from .finetune import fine_tune as fine_tune
from .metrics import compute_metrics as compute_metrics
from .premise_oblivious import premise_oblivious_split as premise_oblivious_split

__all__ = [
    "DataMapCallback",
    "ShortcutCallback",
    "compute_metrics",
    "fine_tune",
    "premise_oblivious_split",
]
