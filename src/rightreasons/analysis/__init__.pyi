from .behavior.expectations import Answers as Answers
from .behavior.expectations import evaluate_cases as evaluate_cases
from .behavior.generalization import GeneralizationScore as GeneralizationScore
from .behavior.generalization import Randomization as Randomization
from .behavior.generalization import compare_generalization as compare_generalization
from .behavior.generalization import compare_mean_generalization as compare_mean_generalization
from .behavior.generalization import generalization_score as generalization_score
from .behavior.normalization import normalize_answer as normalize_answer
from .behavior.pass_rates import BehavioralPassRate as BehavioralPassRate
from .behavior.pass_rates import FunctionalityResult as FunctionalityResult
from .behavior.pass_rates import GroupResult as GroupResult
from .behavior.pass_rates import PassCounts as PassCounts
from .behavior.pass_rates import pass_rates as pass_rates
from .behavior.squad_scores import AnswerScores as AnswerScores
from .behavior.squad_scores import answer_scores as answer_scores
from .calibration.compare import ConfidenceComparison as ConfidenceComparison
from .calibration.compare import ConfidencePair as ConfidencePair
from .calibration.compare import compare_confidence as compare_confidence
from .calibration.consistency import ConsistencyResult as ConsistencyResult
from .calibration.consistency import consistency as consistency
from .calibration.errors import CalibrationBin as CalibrationBin
from .calibration.errors import CalibrationBins as CalibrationBins
from .calibration.errors import CalibrationResult as CalibrationResult
from .calibration.errors import calibration_error as calibration_error
from .calibration.fuzzy import FuzzyCalibration as FuzzyCalibration
from .calibration.fuzzy import fuzzy_calibration_error as fuzzy_calibration_error
from .calibration.human import HumanCalibration as HumanCalibration
from .calibration.human import human_calibration as human_calibration
from .calibration.kernel_test import KernelCalibration as KernelCalibration
from .calibration.kernel_test import kernel_calibration as kernel_calibration
from .calibration.lint import ConfidenceVersusLabelWarning as ConfidenceVersusLabelWarning
from .calibration.lint import PositiveVersusCorrectnessWarning as PositiveVersusCorrectnessWarning
from .calibration.macro_ce import MacroCalibrationResult as MacroCalibrationResult
from .calibration.macro_ce import macro_ce as macro_ce
from .calibration.meaning import meaning_clusters as meaning_clusters
from .calibration.meaning import semantic_entropy as semantic_entropy
from .calibration.options import CalibrationErrorOptions as CalibrationErrorOptions
from .calibration.proper_scores import BrierIntervals as BrierIntervals
from .calibration.proper_scores import BrierResult as BrierResult
from .calibration.proper_scores import NllResult as NllResult
from .calibration.proper_scores import brier_part_intervals as brier_part_intervals
from .calibration.proper_scores import brier_score as brier_score
from .calibration.proper_scores import negative_log_likelihood as negative_log_likelihood
from .calibration.recalibration import RecalibrationReport as RecalibrationReport
from .calibration.recalibration import recalibrate as recalibrate
from .calibration.recalibration import recalibration_report as recalibration_report
from .calibration.selective import SelectiveResult as SelectiveResult
from .calibration.selective import selective_scores as selective_scores
from .calibration.smooth import SmoothResult as SmoothResult
from .calibration.smooth import SweepResult as SweepResult
from .calibration.smooth import ece_sweep as ece_sweep
from .calibration.smooth import smooth_ece as smooth_ece
from .calibration.summary import CalibrationSummary as CalibrationSummary
from .calibration.summary import calibration_summary as calibration_summary
from .calibration.temperature import Temperature as Temperature
from .calibration.temperature import TemperatureReport as TemperatureReport
from .calibration.temperature import apply_temperature as apply_temperature
from .calibration.temperature import fit_temperature as fit_temperature
from .calibration.temperature import temperature_report as temperature_report
from .calibration.top_label import TopLabel as TopLabel
from .calibration.top_label import top_label as top_label
from .classification import ClassificationResult as ClassificationResult
from .classification import ConfusionMatrix as ConfusionMatrix
from .classification import accuracy as accuracy
from .classification import classification_scores as classification_scores
from .classification import macro_f1_interval as macro_f1_interval
from .cues.agreement import FleissKappa as FleissKappa
from .cues.agreement import HumanPerformance as HumanPerformance
from .cues.agreement import fleiss_kappa as fleiss_kappa
from .cues.agreement import human_performance as human_performance
from .cues.classifier import CueClassifier as CueClassifier
from .cues.classifier import cue_classifier as cue_classifier
from .cues.classifier import cue_transfer as cue_transfer
from .cues.compare_gaps import GapComparison as GapComparison
from .cues.compare_gaps import compare_gaps as compare_gaps
from .cues.easy_hard import EasyHardGap as EasyHardGap
from .cues.easy_hard import easy_hard_gap as easy_hard_gap
from .cues.statistics import CueCounts as CueCounts
from .cues.statistics import CueStatistics as CueStatistics
from .cues.statistics import cue_statistics as cue_statistics
from .difficulty.contrast import ContrastConsistency as ContrastConsistency
from .difficulty.contrast import contrast_consistency as contrast_consistency
from .difficulty.data_map import DataMap as DataMap
from .difficulty.data_map import data_map as data_map
from .difficulty.flips import FlipRates as FlipRates
from .difficulty.flips import flip_rates as flip_rates
from .difficulty.information import VInformation as VInformation
from .difficulty.information import v_information as v_information
from .difficulty.overlap import Overlap as Overlap
from .difficulty.overlap import distribution_overlap as distribution_overlap
from .difficulty.ranking import AccuracyByDifficulty as AccuracyByDifficulty
from .difficulty.ranking import PairedDifficulty as PairedDifficulty
from .difficulty.ranking import RankCorrelation as RankCorrelation
from .difficulty.ranking import accuracy_by_difficulty as accuracy_by_difficulty
from .difficulty.ranking import entropy as entropy
from .difficulty.ranking import margin as margin
from .difficulty.ranking import paired_difficulty as paired_difficulty
from .difficulty.ranking import rank_correlation as rank_correlation
from .intervals import Interval as Interval
from .intervals import PairedTest as PairedTest
from .intervals import bootstrap as bootstrap
from .intervals import bootstrap_mean as bootstrap_mean
from .intervals import mcnemar as mcnemar
from .intervals import paired_bootstrap as paired_bootstrap
from .intervals import paired_means as paired_means
from .intervals import wilson as wilson
from .probes.choice_paralysis import ChoiceParalysis as ChoiceParalysis
from .probes.choice_paralysis import choice_paralysis as choice_paralysis
from .probes.judges import JudgeBias as JudgeBias
from .probes.judges import Preference as Preference
from .probes.judges import judge_bias as judge_bias
from .probes.none_of_the_above import NoneOfTheAbove as NoneOfTheAbove
from .probes.none_of_the_above import none_of_the_above as none_of_the_above
from .probes.option_order import ChoicesOnly as ChoicesOnly
from .probes.option_order import PositionBias as PositionBias
from .probes.option_order import choices_only as choices_only
from .probes.option_order import contextual_calibration as contextual_calibration
from .probes.option_order import permutation_consistency as permutation_consistency
from .probes.option_order import position_bias as position_bias
from .probes.option_order import pride_debias as pride_debias
from .probes.option_order import pride_prior as pride_prior
from .probes.option_order import pride_prior_intervals as pride_prior_intervals
from .probes.prior_bias import PriorBias as PriorBias
from .probes.prior_bias import prior_bias as prior_bias
from .shortcuts.causal import CausalShortcuts as CausalShortcuts
from .shortcuts.causal import causal_shortcuts as causal_shortcuts
from .shortcuts.detection import DetectionQuality as DetectionQuality
from .shortcuts.detection import detection_quality as detection_quality
from .shortcuts.groups import WorstGroup as WorstGroup
from .shortcuts.groups import worst_group_accuracy as worst_group_accuracy
from .shortcuts.lmi import LmiCounts as LmiCounts
from .shortcuts.lmi import LmiResult as LmiResult
from .shortcuts.lmi import lmi as lmi
from .shortcuts.reliance import ShortcutReliance as ShortcutReliance
from .shortcuts.reliance import Shortcuts as Shortcuts
from .shortcuts.reliance import find_shortcuts as find_shortcuts
from .shortcuts.reliance import shortcut_reliance as shortcut_reliance
from .shortcuts.tradeoff import ShortcutTradeoff as ShortcutTradeoff
from .shortcuts.tradeoff import TradeoffCounts as TradeoffCounts
from .shortcuts.tradeoff import shortcut_tradeoff as shortcut_tradeoff
from .tokens import words as words

__all__ = [
    "AccuracyByDifficulty",
    "AnswerScores",
    "Answers",
    "BehavioralPassRate",
    "BrierIntervals",
    "BrierResult",
    "CalibrationBin",
    "CalibrationBins",
    "CalibrationErrorOptions",
    "CalibrationResult",
    "CalibrationSummary",
    "CausalShortcuts",
    "ChoiceParalysis",
    "ChoicesOnly",
    "ClassificationResult",
    "ConfidenceComparison",
    "ConfidencePair",
    "ConfidenceVersusLabelWarning",
    "ConfusionMatrix",
    "ConsistencyResult",
    "ContrastConsistency",
    "CueClassifier",
    "CueCounts",
    "CueStatistics",
    "DataMap",
    "DetectionQuality",
    "EasyHardGap",
    "FleissKappa",
    "FlipRates",
    "FunctionalityResult",
    "FuzzyCalibration",
    "GapComparison",
    "GeneralizationScore",
    "GroupResult",
    "HumanCalibration",
    "HumanPerformance",
    "Interval",
    "JudgeBias",
    "KernelCalibration",
    "LmiCounts",
    "LmiResult",
    "MacroCalibrationResult",
    "NllResult",
    "NoneOfTheAbove",
    "Overlap",
    "PairedDifficulty",
    "PairedTest",
    "PassCounts",
    "PositionBias",
    "PositiveVersusCorrectnessWarning",
    "Preference",
    "PriorBias",
    "Randomization",
    "RankCorrelation",
    "RecalibrationReport",
    "SelectiveResult",
    "ShortcutReliance",
    "ShortcutTradeoff",
    "Shortcuts",
    "SmoothResult",
    "SweepResult",
    "Temperature",
    "TemperatureReport",
    "TopLabel",
    "TradeoffCounts",
    "VInformation",
    "WorstGroup",
    "accuracy",
    "accuracy_by_difficulty",
    "answer_scores",
    "apply_temperature",
    "bootstrap",
    "bootstrap_mean",
    "brier_part_intervals",
    "brier_score",
    "calibration_error",
    "calibration_summary",
    "causal_shortcuts",
    "choice_paralysis",
    "choices_only",
    "classification_scores",
    "compare_confidence",
    "compare_gaps",
    "compare_generalization",
    "compare_mean_generalization",
    "consistency",
    "contextual_calibration",
    "contrast_consistency",
    "cue_classifier",
    "cue_statistics",
    "cue_transfer",
    "data_map",
    "detection_quality",
    "distribution_overlap",
    "easy_hard_gap",
    "ece_sweep",
    "entropy",
    "evaluate_cases",
    "find_shortcuts",
    "fit_temperature",
    "fleiss_kappa",
    "flip_rates",
    "fuzzy_calibration_error",
    "generalization_score",
    "human_calibration",
    "human_performance",
    "judge_bias",
    "kernel_calibration",
    "lmi",
    "macro_ce",
    "macro_f1_interval",
    "margin",
    "mcnemar",
    "meaning_clusters",
    "negative_log_likelihood",
    "none_of_the_above",
    "normalize_answer",
    "paired_bootstrap",
    "paired_difficulty",
    "paired_means",
    "pass_rates",
    "permutation_consistency",
    "position_bias",
    "pride_debias",
    "pride_prior",
    "pride_prior_intervals",
    "prior_bias",
    "rank_correlation",
    "recalibrate",
    "recalibration_report",
    "selective_scores",
    "semantic_entropy",
    "shortcut_reliance",
    "shortcut_tradeoff",
    "smooth_ece",
    "temperature_report",
    "top_label",
    "v_information",
    "wilson",
    "words",
    "worst_group_accuracy",
]
