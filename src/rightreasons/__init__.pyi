from . import analysis as analysis
from . import auditing as auditing
from . import data as data
from . import measuring as measuring
from . import models as models
from . import training as training
from .auditing.comparing.comparison import compare as compare
from .auditing.runner import audit as audit
from .data.builders.catalog import load_dataset as load_dataset
from .foundations.ragged import Ragged as Ragged
from .foundations.resampling import Resampling as Resampling
from .modules import available_modules as available_modules
from .modules import load as load
from .modules import module_path as module_path

__version__: str

__all__ = [
    "Ragged",
    "Resampling",
    "__version__",
    "analysis",
    "audit",
    "auditing",
    "available_modules",
    "compare",
    "data",
    "load",
    "load_dataset",
    "measuring",
    "models",
    "module_path",
    "training",
]
