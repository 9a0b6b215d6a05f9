from .callbacks import DataMapCallback as DataMapCallback
from .callbacks import ShortcutCallback as ShortcutCallback
from .collating import MultipleChoiceCollator as MultipleChoiceCollator
from .finetune import fine_tune as fine_tune
from .metrics import compute_metrics as compute_metrics
from .premise_oblivious import premise_oblivious_split as premise_oblivious_split
from .probe_sets import join_probes as join_probes
from .trackers import DataMapTracker as DataMapTracker
from .trackers import ShortcutTracker as ShortcutTracker

__all__ = [
    "DataMapCallback",
    "DataMapTracker",
    "MultipleChoiceCollator",
    "ShortcutCallback",
    "ShortcutTracker",
    "compute_metrics",
    "fine_tune",
    "join_probes",
    "premise_oblivious_split",
]
