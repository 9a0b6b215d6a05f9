from .bias import prior_bias as prior_bias
from .corrected import CorrectedScorer as CorrectedScorer
from .corrections import PriorCorrection as PriorCorrection
from .corrections import fit_content_free_prior as fit_content_free_prior
from .corrections import fit_position_prior as fit_position_prior
from .corrections import fit_prior_correction as fit_prior_correction
from .corrections import load_prior_correction as load_prior_correction
from .judged_accuracy import correct_judged_accuracy as correct_judged_accuracy
from .judges import judge_bias as judge_bias
from .judgments import read_judgments as read_judgments
from .measure import measure_option_order as measure_option_order
from .measure import measure_probes as measure_probes
from .measure import probe_tables as probe_tables
from .option_order import contextual_calibration as contextual_calibration
from .option_order import position_bias as position_bias
from .paralysis import choice_paralysis as choice_paralysis
from .reading import measure_reading as measure_reading

__all__ = [
    "CorrectedScorer",
    "PriorCorrection",
    "choice_paralysis",
    "contextual_calibration",
    "correct_judged_accuracy",
    "fit_content_free_prior",
    "fit_position_prior",
    "fit_prior_correction",
    "judge_bias",
    "load_prior_correction",
    "measure_option_order",
    "measure_probes",
    "measure_reading",
    "position_bias",
    "prior_bias",
    "probe_tables",
    "read_judgments",
]
