from .compare import compare_confidence as compare_confidence
from .confidence_table import read_confidence as read_confidence
from .diagram import reliability_diagram as reliability_diagram
from .errors import calibration_error as calibration_error
from .human import human_calibration as human_calibration
from .macro_error import macro_ce as macro_ce
from .measure import measure_calibration as measure_calibration
from .measure_sources import measure_confidence as measure_confidence
from .proper_scores import brier_score as brier_score
from .proper_scores import negative_log_likelihood as negative_log_likelihood
from .proper_scores import selective_scores as selective_scores
from .recalibration import recalibrate as recalibrate
from .recalibration import recalibration_report as recalibration_report
from .recalibrators import Recalibrator as Recalibrator
from .recalibrators import fit_recalibrator as fit_recalibrator
from .recalibrators import fit_temperature as fit_temperature
from .recalibrators import load_recalibrator as load_recalibrator
from .smooth import consistency as consistency
from .smooth import smooth_ece as smooth_ece

__all__ = [
    "Recalibrator",
    "brier_score",
    "calibration_error",
    "compare_confidence",
    "consistency",
    "fit_recalibrator",
    "fit_temperature",
    "human_calibration",
    "load_recalibrator",
    "macro_ce",
    "measure_calibration",
    "measure_confidence",
    "negative_log_likelihood",
    "read_confidence",
    "recalibrate",
    "recalibration_report",
    "reliability_diagram",
    "selective_scores",
    "smooth_ece",
]
