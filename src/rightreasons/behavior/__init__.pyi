from .cases import failing_cases as failing_cases
from .expectations import answer_scores as answer_scores
from .expectations import evaluate_cases as evaluate_cases
from .expectations import normalize_answer as normalize_answer
from .generalization import GeneralizationPair as GeneralizationPair
from .generalization import compare_average_generalization as compare_average_generalization
from .generalization import compare_generalization as compare_generalization
from .generalization import find_negative_transfer as find_negative_transfer
from .generalization import generalization_score as generalization_score
from .learning.collect import collect_scores as collect_scores
from .learning.collect import compare_averages as compare_averages
from .learning.kinds import IidData as IidData
from .learning.plan import LearningTask as LearningTask
from .learning.plan import Plan as Plan
from .learning.plan import plan_runs as plan_runs
from .learning.run import run_plan as run_plan
from .measure import measure_behavior as measure_behavior
from .measure import measure_reading as measure_reading
from .measure import read_suite_answers as read_suite_answers
from .measure import score_stored as score_stored
from .rates import pass_rates as pass_rates

__all__ = [
    "GeneralizationPair",
    "IidData",
    "LearningTask",
    "Plan",
    "answer_scores",
    "collect_scores",
    "compare_average_generalization",
    "compare_averages",
    "compare_generalization",
    "evaluate_cases",
    "failing_cases",
    "find_negative_transfer",
    "generalization_score",
    "measure_behavior",
    "measure_reading",
    "normalize_answer",
    "pass_rates",
    "plan_runs",
    "read_suite_answers",
    "run_plan",
    "score_stored",
]
