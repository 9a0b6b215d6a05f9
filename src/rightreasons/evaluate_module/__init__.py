"""The evaluate modules: loading them, and the parts that every module folder is written with.

A module is a folder (`metrics/ece`, `measurements/lmi`, ...) that can be published as a Space
unchanged. It defines one class with `KernelModule`, whose options `kernel_options` takes from the
kernels and `describe_options` documents. `load` returns an instance.
"""

from rightreasons.evaluate_module.class_names import ClassNames
from rightreasons.evaluate_module.descriptions import describe_options, parse_argument_help
from rightreasons.evaluate_module.loading import available_modules, load, module_path
from rightreasons.evaluate_module.module import KernelModule
from rightreasons.evaluate_module.options import kernel_options, named_classes, select_options

__all__ = [
    "ClassNames",
    "KernelModule",
    "available_modules",
    "describe_options",
    "kernel_options",
    "load",
    "module_path",
    "named_classes",
    "parse_argument_help",
    "select_options",
]
