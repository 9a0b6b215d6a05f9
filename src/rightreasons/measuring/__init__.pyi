from .asking.distractors import DistractorFigures as DistractorFigures
from .asking.distractors import measure_distractors as measure_distractors
from .asking.information import InformationMeasurement as InformationMeasurement
from .asking.information import measure_information as measure_information
from .asking.picks import PickFigures as PickFigures
from .asking.picks import measure_picks as measure_picks
from .asking.templates import TemplateFigures as TemplateFigures
from .asking.templates import measure_templates as measure_templates
from .asking.word_shifts import WordShifts as WordShifts
from .asking.word_shifts import measure_word_shifts as measure_word_shifts
from .behavior import JudgedCase as JudgedCase
from .behavior import JudgedExample as JudgedExample
from .behavior import SuiteAnswers as SuiteAnswers
from .behavior import failing_cases as failing_cases
from .behavior import judged_cases as judged_cases
from .behavior import measure_behavior as measure_behavior
from .behavior import score_stored as score_stored
from .behavior_spans import measure_reading as measure_reading
from .calibration import CalibrationMeasurement as CalibrationMeasurement
from .calibration import JudgedItems as JudgedItems
from .calibration import measure_calibration as measure_calibration
from .causal_shortcuts import CausalMeasurement as CausalMeasurement
from .causal_shortcuts import cue_groups as cue_groups
from .causal_shortcuts import measure_causal_shortcuts as measure_causal_shortcuts
from .causal_shortcuts import named_cues as named_cues
from .confidence.elicitors import Elicited as Elicited
from .confidence.elicitors import elicit_confidence as elicit_confidence
from .confidence.options import ElicitOptions as ElicitOptions
from .confidence.sources import ConfidenceMeasurement as ConfidenceMeasurement
from .confidence.sources import SourceFigures as SourceFigures
from .confidence.sources import measure_confidence as measure_confidence
from .contrast_sets import ContrastItems as ContrastItems
from .contrast_sets import ContrastMeasurement as ContrastMeasurement
from .contrast_sets import measure_contrast_sets as measure_contrast_sets
from .cues import ChoiceItems as ChoiceItems
from .cues import CueFigures as CueFigures
from .cues import measure_cues as measure_cues
from .difficulty import DifficultyMeasurement as DifficultyMeasurement
from .difficulty import measure_difficulty as measure_difficulty
from .difficulty import measure_flips as measure_flips
from .estimates import Estimate as Estimate
from .judges.bias import JudgesMeasurement as JudgesMeasurement
from .judges.bias import judge_pairs as judge_pairs
from .judges.bias import measure_judges as measure_judges
from .occlusion.importance import occlusion_attributions as occlusion_attributions
from .occlusion.leaving_out import Occlusion as Occlusion
from .occlusion.leaving_out import occlude as occlude
from .option_order import OrderFigures as OrderFigures
from .option_order import measure_option_order as measure_option_order
from .options import BehaviorOptions as BehaviorOptions
from .options import CalibrationOptions as CalibrationOptions
from .options import CuesOptions as CuesOptions
from .options import DifficultyOptions as DifficultyOptions
from .options import ProbesOptions as ProbesOptions
from .options import ShortcutsOptions as ShortcutsOptions
from .probes import ProbeFigures as ProbeFigures
from .probes import ProbeScores as ProbeScores
from .probes import ProbeTables as ProbeTables
from .probes import measure_probes as measure_probes
from .probes import probe_tables as probe_tables
from .protocols import PROTOCOLS as PROTOCOLS
from .protocols import Protocol as Protocol
from .protocols import protocol_of as protocol_of
from .requests import ChoiceRequest as ChoiceRequest
from .requests import StoredAnswers as StoredAnswers
from .requests import choice_requests as choice_requests
from .shortcuts import ShortcutMeasurement as ShortcutMeasurement
from .shortcuts import ShortcutRecord as ShortcutRecord
from .shortcuts import measure_shortcuts as measure_shortcuts
from .shortcuts import training_heads as training_heads
from .streams.counting import calibrate_stream as calibrate_stream
from .streams.counting import count_cues as count_cues
from .streams.counting import count_words as count_words
from .streams.counting import predict_stream as predict_stream
from .streams.suites import StreamedBehavior as StreamedBehavior
from .streams.suites import behavior_stream as behavior_stream
from .substitution_sources import replacement_sources as replacement_sources
from .substitutions import SubstitutionTests as SubstitutionTests
from .substitutions import substitution_tests as substitution_tests

__all__ = [
    "PROTOCOLS",
    "BehaviorOptions",
    "CalibrationMeasurement",
    "CalibrationOptions",
    "CausalMeasurement",
    "ChoiceItems",
    "ChoiceRequest",
    "ConfidenceMeasurement",
    "ContrastItems",
    "ContrastMeasurement",
    "CueFigures",
    "CuesOptions",
    "DifficultyMeasurement",
    "DifficultyOptions",
    "DistractorFigures",
    "ElicitOptions",
    "Elicited",
    "Estimate",
    "InformationMeasurement",
    "JudgedCase",
    "JudgedExample",
    "JudgedItems",
    "JudgesMeasurement",
    "Occlusion",
    "OrderFigures",
    "PickFigures",
    "ProbeFigures",
    "ProbeScores",
    "ProbeTables",
    "ProbesOptions",
    "Protocol",
    "ShortcutMeasurement",
    "ShortcutRecord",
    "ShortcutsOptions",
    "SourceFigures",
    "StoredAnswers",
    "StreamedBehavior",
    "SubstitutionTests",
    "SuiteAnswers",
    "TemplateFigures",
    "WordShifts",
    "behavior_stream",
    "calibrate_stream",
    "choice_requests",
    "count_cues",
    "count_words",
    "cue_groups",
    "elicit_confidence",
    "failing_cases",
    "judge_pairs",
    "judged_cases",
    "measure_behavior",
    "measure_calibration",
    "measure_causal_shortcuts",
    "measure_confidence",
    "measure_contrast_sets",
    "measure_cues",
    "measure_difficulty",
    "measure_distractors",
    "measure_flips",
    "measure_information",
    "measure_judges",
    "measure_option_order",
    "measure_picks",
    "measure_probes",
    "measure_reading",
    "measure_shortcuts",
    "measure_templates",
    "measure_word_shifts",
    "named_cues",
    "occlude",
    "occlusion_attributions",
    "predict_stream",
    "probe_tables",
    "protocol_of",
    "replacement_sources",
    "score_stored",
    "substitution_tests",
    "training_heads",
]
