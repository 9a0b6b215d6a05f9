from .edits import edit_items as edit_items
from .loop_page import write_loop_page as write_loop_page
from .loops import Loop as Loop
from .loops import judge_balancing as judge_balancing
from .loops import judge_labels as judge_labels
from .loops import judge_learning as judge_learning
from .loops import judge_recalibration as judge_recalibration
from .result import RepairResult as RepairResult
from .run import repair as repair
from .verification import verify as verify
from .words import SpuriousWords as SpuriousWords

__all__ = [
    "Loop",
    "RepairResult",
    "SpuriousWords",
    "edit_items",
    "judge_balancing",
    "judge_labels",
    "judge_learning",
    "judge_recalibration",
    "repair",
    "verify",
    "write_loop_page",
]
