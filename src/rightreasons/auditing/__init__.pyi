from .comparing.comparison import compare as compare
from .comparing.history import FigureHistory as FigureHistory
from .comparing.history import History as History
from .comparing.history import history as history
from .comparing.results import Comparison as Comparison
from .demo import audit_demo as audit_demo
from .figures import AuditFigure as AuditFigure
from .figures import audit_figures as audit_figures
from .options import AuditOptions as AuditOptions
from .page.parts import Applicability as Applicability
from .page.parts import Column as Column
from .page.parts import Example as Example
from .page.parts import ExampleList as ExampleList
from .page.parts import Headline as Headline
from .page.parts import Mark as Mark
from .page.parts import Part as Part
from .page.parts import Plot as Plot
from .page.parts import Section as Section
from .page.parts import SectionResult as SectionResult
from .page.parts import Table as Table
from .page.parts import Verdict as Verdict
from .questions import available_questions as available_questions
from .questions.behavior.report import write_behavior_report as write_behavior_report
from .reading.card import card_section as card_section
from .reading.card import eval_results as eval_results
from .reading.card import write_card as write_card
from .reading.gate import GateCheck as GateCheck
from .reading.gate import GateResult as GateResult
from .reading.gate import gate as gate
from .reading.leaderboard import LeaderboardCell as LeaderboardCell
from .reading.leaderboard import LeaderboardRow as LeaderboardRow
from .reading.leaderboard import leaderboard as leaderboard
from .runner import AuditResult as AuditResult
from .runner import audit as audit
from .schema import audit_schema as audit_schema
from .schema import check_audit as check_audit
from .schema import read_audit as read_audit

__all__ = [
    "Applicability",
    "AuditFigure",
    "AuditOptions",
    "AuditResult",
    "Column",
    "Comparison",
    "Example",
    "ExampleList",
    "FigureHistory",
    "GateCheck",
    "GateResult",
    "Headline",
    "History",
    "LeaderboardCell",
    "LeaderboardRow",
    "Mark",
    "Part",
    "Plot",
    "Section",
    "SectionResult",
    "Table",
    "Verdict",
    "audit",
    "audit_demo",
    "audit_figures",
    "audit_schema",
    "available_questions",
    "card_section",
    "check_audit",
    "compare",
    "eval_results",
    "gate",
    "history",
    "leaderboard",
    "read_audit",
    "write_behavior_report",
    "write_card",
]
