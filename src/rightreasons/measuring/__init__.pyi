from .calibration import CalibrationMeasurement as CalibrationMeasurement
from .calibration import JudgedItems as JudgedItems
from .calibration import measure_calibration as measure_calibration
from .difficulty import DifficultyMeasurement as DifficultyMeasurement
from .difficulty import measure_difficulty as measure_difficulty
from .difficulty import measure_flips as measure_flips
from .estimates import Estimate as Estimate
from .option_order import OrderFigures as OrderFigures
from .option_order import cyclic_orders as cyclic_orders
from .options import BehaviorOptions as BehaviorOptions
from .options import CalibrationOptions as CalibrationOptions
from .options import CuesOptions as CuesOptions
from .options import DifficultyOptions as DifficultyOptions
from .options import ProbesOptions as ProbesOptions
from .options import ShortcutsOptions as ShortcutsOptions
from .shortcuts import ShortcutMeasurement as ShortcutMeasurement
from .shortcuts import ShortcutRecord as ShortcutRecord
from .shortcuts import measure_shortcuts as measure_shortcuts
from .substitution_sources import replacement_sources as replacement_sources
from .substitutions import SubstitutionTests as SubstitutionTests
from .substitutions import substitution_tests as substitution_tests

__all__ = [
    "BehaviorOptions",
    "CalibrationMeasurement",
    "CalibrationOptions",
    "CuesOptions",
    "DifficultyMeasurement",
    "DifficultyOptions",
    "Estimate",
    "JudgedItems",
    "OrderFigures",
    "ProbesOptions",
    "ShortcutMeasurement",
    "ShortcutRecord",
    "ShortcutsOptions",
    "SubstitutionTests",
    "cyclic_orders",
    "measure_calibration",
    "measure_difficulty",
    "measure_flips",
    "measure_shortcuts",
    "replacement_sources",
    "substitution_tests",
]
