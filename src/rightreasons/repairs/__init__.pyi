from .edits import edit_items as edit_items
from .result import RepairResult as RepairResult
from .run import repair as repair
from .verification import verify as verify
from .words import SpuriousWords as SpuriousWords

__all__ = [
    "RepairResult",
    "SpuriousWords",
    "edit_items",
    "repair",
    "verify",
]
