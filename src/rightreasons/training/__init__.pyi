from .behavior.collecting import CollectedScores as CollectedScores
from .behavior.collecting import collect_scores as collect_scores
from .behavior.kind import IidData as IidData
from .behavior.plan import Plan as Plan
from .behavior.plan import plan_runs as plan_runs
from .behavior.runner import run_plan as run_plan
from .behavior.task import LearningTask as LearningTask
from .metrics import compute_metrics as compute_metrics
from .tuning.finetune import FineTuned as FineTuned
from .tuning.finetune import Objective as Objective
from .tuning.finetune import fine_tune as fine_tune
from .tuning.premise_oblivious import EasyHardSplit as EasyHardSplit
from .tuning.premise_oblivious import premise_oblivious_split as premise_oblivious_split
from .watching.callbacks import DataMapCallback as DataMapCallback
from .watching.callbacks import ShortcutCallback as ShortcutCallback
from .watching.data_map_files import load_data_map as load_data_map
from .watching.probe_callback import ProbeCallback as ProbeCallback

__all__ = [
    "CollectedScores",
    "DataMapCallback",
    "EasyHardSplit",
    "FineTuned",
    "IidData",
    "LearningTask",
    "Objective",
    "Plan",
    "ProbeCallback",
    "ShortcutCallback",
    "collect_scores",
    "compute_metrics",
    "fine_tune",
    "load_data_map",
    "plan_runs",
    "premise_oblivious_split",
    "run_plan",
]
