from .kernel_module import KernelModule as KernelModule
from .loading import available_modules as available_modules
from .loading import load as load
from .loading import module_path as module_path
from .options import argument_help as argument_help
from .options import describe_options as describe_options
from .options import kernel_options as kernel_options
from .options import named_classes as named_classes
from .options import options_for as options_for

__all__ = [
    "KernelModule",
    "argument_help",
    "available_modules",
    "describe_options",
    "kernel_options",
    "load",
    "module_path",
    "named_classes",
    "options_for",
]
