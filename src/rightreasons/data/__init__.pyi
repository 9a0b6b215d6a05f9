from .builders.builder import Builder as Builder
from .builders.builder import ClassificationBuilder as ClassificationBuilder
from .builders.builder import Config as Config
from .builders.builder import Hub as Hub
from .builders.builder import classification_features as classification_features
from .builders.builder import multiple_choice_features as multiple_choice_features
from .builders.catalog import available_datasets as available_datasets
from .builders.catalog import load_builder as load_builder
from .builders.catalog import load_dataset as load_dataset
from .builders.publish import publish as publish
from .builders.publish import write_splits as write_splits
from .builders.sources import Source as Source
from .exporting.tasks import write_task as write_task
from .opening.datasets import open_dataset as open_dataset
from .opening.datasets import open_multiple_choice as open_multiple_choice
from .opening.datasets import open_splits as open_splits
from .opening.judged.confidence import ConfidenceTable as ConfidenceTable
from .opening.judged.confidence import read_confidence as read_confidence
from .opening.judged.judgments import JudgedPairs as JudgedPairs
from .opening.judged.judgments import Judgments as Judgments
from .opening.judged.judgments import read_judgments as read_judgments
from .opening.judged.judgments import read_pairs as read_pairs
from .opening.options import ConfidenceOptions as ConfidenceOptions
from .opening.options import JudgmentOptions as JudgmentOptions
from .opening.options import PredictionOptions as PredictionOptions
from .opening.predictions import ModelAnswers as ModelAnswers
from .opening.predictions import Predictions as Predictions
from .opening.predictions import read_answers as read_answers
from .opening.predictions import read_predictions as read_predictions
from .opening.questions import open_questions as open_questions
from .opening.rating_sheets import Ratings as Ratings
from .opening.rating_sheets import read_rating_sheets as read_rating_sheets
from .opening.rating_sheets import write_rating_sheets as write_rating_sheets
from .opening.runs import read_runs as read_runs
from .opening.splits import choose_split as choose_split
from .opening.splits import chosen_rows as chosen_rows
from .opening.splits import labeled_items as labeled_items
from .opening.streams.batches import Stream as Stream
from .opening.streams.batches import open_stream as open_stream
from .opening.suite_answers import read_suite_answers as read_suite_answers
from .perturbing.mirror import mirror_dataset as mirror_dataset
from .perturbing.planting import plant as plant
from .perturbing.probes import PROBES as PROBES
from .perturbing.probes import Perturber as Perturber
from .perturbing.probes import Pool as Pool
from .perturbing.probes import perturb as perturb
from .perturbing.registry import Perturbation as Perturbation
from .perturbing.registry import find_perturbation as find_perturbation
from .perturbing.registry import perturb_text as perturb_text
from .perturbing.substitutions import Substitution as Substitution
from .perturbing.substitutions import apply_substitutions as apply_substitutions
from .perturbing.substitutions import class_words as class_words
from .perturbing.substitutions import name_substitutions as name_substitutions
from .perturbing.substitutions import substitution_lookups as substitution_lookups
from .perturbing.substitutions import word_substitutions as word_substitutions
from .perturbing.wordnet import find_wordnet as find_wordnet
from .suites.cases import Case as Case
from .suites.cases import Functionality as Functionality
from .suites.editor import directional as directional
from .suites.editor import inv as inv
from .suites.editor import mft as mft
from .suites.hatecheck import read_hatecheck as read_hatecheck
from .suites.opening import open_suite as open_suite
from .suites.streaming import SuiteStream as SuiteStream
from .suites.streaming import stream_suite as stream_suite
from .suites.suite import Suite as Suite
from .suites.templates import checklist_lexicons as checklist_lexicons
from .suites.templates import fill as fill

__all__ = [
    "PROBES",
    "Builder",
    "Case",
    "ClassificationBuilder",
    "ConfidenceOptions",
    "ConfidenceTable",
    "Config",
    "Functionality",
    "Hub",
    "JudgedPairs",
    "JudgmentOptions",
    "Judgments",
    "ModelAnswers",
    "Perturbation",
    "Perturber",
    "Pool",
    "PredictionOptions",
    "Predictions",
    "Ratings",
    "Source",
    "Stream",
    "Substitution",
    "Suite",
    "SuiteStream",
    "apply_substitutions",
    "available_datasets",
    "checklist_lexicons",
    "choose_split",
    "chosen_rows",
    "class_words",
    "classification_features",
    "directional",
    "fill",
    "find_perturbation",
    "find_wordnet",
    "inv",
    "labeled_items",
    "load_builder",
    "load_dataset",
    "mft",
    "mirror_dataset",
    "multiple_choice_features",
    "name_substitutions",
    "open_dataset",
    "open_multiple_choice",
    "open_questions",
    "open_splits",
    "open_stream",
    "open_suite",
    "perturb",
    "perturb_text",
    "plant",
    "publish",
    "read_answers",
    "read_confidence",
    "read_hatecheck",
    "read_judgments",
    "read_pairs",
    "read_predictions",
    "read_rating_sheets",
    "read_runs",
    "read_suite_answers",
    "stream_suite",
    "substitution_lookups",
    "word_substitutions",
    "write_rating_sheets",
    "write_splits",
    "write_task",
]
