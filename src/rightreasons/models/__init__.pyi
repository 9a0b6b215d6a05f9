from .choices import load_causal as load_causal
from .choices import load_chooser as load_chooser
from .classes import choose as choose
from .classes import predict as predict
from .gradients.attribution import integrated_gradients as integrated_gradients
from .gradients.fisher import fisher_information as fisher_information
from .loading import load_classifier as load_classifier
from .loading import load_multiple_choice as load_multiple_choice
from .prompted import Prompted as Prompted
from .protocol import Scorer as Scorer
from .scorers import as_scorer as as_scorer
from .scorers import demo_encoder as demo_encoder
from .scorers import demo_language_model as demo_language_model
from .servers.opening import open_server as open_server
from .spans import predict_answers as predict_answers
from .wording import Prompt as Prompt

__all__ = [
    "Prompt",
    "Prompted",
    "Scorer",
    "as_scorer",
    "choose",
    "demo_encoder",
    "demo_language_model",
    "fisher_information",
    "integrated_gradients",
    "load_causal",
    "load_chooser",
    "load_classifier",
    "load_multiple_choice",
    "open_server",
    "predict",
    "predict_answers",
]
