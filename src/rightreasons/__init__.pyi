from . import behavior as behavior
from . import calibration as calibration
from . import cues as cues
from . import datasets as datasets
from . import difficulty as difficulty
from . import io as io
from . import models as models
from . import probes as probes
from . import reasons as reasons
from . import repairs as repairs
from . import replicate as replicate
from . import report as report
from . import shortcuts as shortcuts
from . import training as training
from . import ways as ways
from .audited.opening import load_model as load_model
from .behavior.generalization import generalization_score as generalization_score
from .behavior.rates import pass_rates as pass_rates
from .calibration.diagram import reliability_diagram as reliability_diagram
from .calibration.errors import ece as ece
from .calibration.proper_scores import auroc as auroc
from .calibration.proper_scores import brier as brier
from .calibration.recalibrators import load_recalibrator as load_recalibrator
from .core.arrays import Ragged as Ragged
from .core.classification import label_errors as label_errors
from .core.resampling import Resampling as Resampling
from .cues.easy_hard import easy_hard_gap as easy_hard_gap
from .cues.statistics import cue_statistics as cue_statistics
from .datasets.builder import load_dataset as load_dataset
from .evaluate_module import available_modules as available_modules
from .evaluate_module import load as load
from .evaluate_module import module_path as module_path
from .io.tables import load_data as load_data
from .models.gradients.attribution import integrated_gradients as integrated_gradients
from .models.gradients.fisher import fisher_information as fisher_information
from .probes.bias import prior_bias as prior_bias
from .probes.corrections import load_prior_correction as load_prior_correction
from .probes.paralysis import choice_paralysis as choice_paralysis
from .repairs.debias import debias as debias
from .repairs.run import repair as repair
from .report.comparison import compare as compare
from .report.gates import gate as gate
from .report.live import serve as serve
from .report.runner import audit as audit
from .shortcuts.mutual_information import lmi as lmi
from .shortcuts.reliance import shortcut_reliance as shortcut_reliance
from .training.finetune import fine_tune as fine_tune

__version__: str

__all__ = [
    "Ragged",
    "Resampling",
    "__version__",
    "audit",
    "auroc",
    "available_modules",
    "behavior",
    "brier",
    "calibration",
    "choice_paralysis",
    "compare",
    "cue_statistics",
    "cues",
    "datasets",
    "debias",
    "difficulty",
    "easy_hard_gap",
    "ece",
    "fine_tune",
    "fisher_information",
    "gate",
    "generalization_score",
    "integrated_gradients",
    "io",
    "label_errors",
    "lmi",
    "load",
    "load_data",
    "load_dataset",
    "load_model",
    "load_prior_correction",
    "load_recalibrator",
    "models",
    "module_path",
    "pass_rates",
    "prior_bias",
    "probes",
    "reasons",
    "reliability_diagram",
    "repair",
    "repairs",
    "replicate",
    "report",
    "serve",
    "shortcut_reliance",
    "shortcuts",
    "training",
    "ways",
]
