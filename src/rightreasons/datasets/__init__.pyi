from .builder import available_datasets as available_datasets
from .builder import load_dataset as load_dataset
from .perturbing.mirroring import mirror_dataset as mirror_dataset
from .perturbing.probes import perturb as perturb
from .publishing import publish as publish
from .suites.cases import Case as Case
from .suites.cases import Functionality as Functionality
from .suites.suite import Suite as Suite
from .suites.suite import open_suite as open_suite
from .suites.templates import directional as directional
from .suites.templates import fill as fill
from .suites.templates import inv as inv
from .suites.templates import make_versions as make_versions
from .suites.templates import mft as mft

__all__ = [
    "Case",
    "Functionality",
    "Suite",
    "available_datasets",
    "directional",
    "fill",
    "inv",
    "load_dataset",
    "make_versions",
    "mft",
    "mirror_dataset",
    "open_suite",
    "perturb",
    "publish",
]
