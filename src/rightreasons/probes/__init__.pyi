from .bias import prior_bias as prior_bias
from .judges import judge_bias as judge_bias
from .judges import read_judgments as read_judgments
from .measure import measure_option_order as measure_option_order
from .measure import measure_probes as measure_probes
from .measure import probe_tables as probe_tables
from .option_order import contextual_calibration as contextual_calibration
from .option_order import position_bias as position_bias
from .paralysis import choice_paralysis as choice_paralysis
from .reading import measure_reading as measure_reading

__all__ = [
    "choice_paralysis",
    "contextual_calibration",
    "judge_bias",
    "measure_option_order",
    "measure_probes",
    "measure_reading",
    "position_bias",
    "prior_bias",
    "probe_tables",
    "read_judgments",
]
