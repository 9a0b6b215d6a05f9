from .behavior_page import write_behavior_report as write_behavior_report
from .comparison import compare as compare
from .figures import audit_figures as audit_figures
from .gates import gate as gate
from .labels import audit_labels as audit_labels
from .runner import audit as audit
from .schema import audit_schema as audit_schema
from .schema import read_audit as read_audit
from .sharing.card import write_card as write_card

__all__ = [
    "audit",
    "audit_figures",
    "audit_labels",
    "audit_schema",
    "compare",
    "gate",
    "read_audit",
    "write_behavior_report",
    "write_card",
]
