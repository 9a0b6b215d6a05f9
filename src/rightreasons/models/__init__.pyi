from .cnn import build_cnn as build_cnn
from .cnn import glove_vectors as glove_vectors
from .gradients.attribution import Attributions as Attributions
from .gradients.attribution import integrated_gradients as integrated_gradients
from .gradients.attribution_options import AttributionOptions as AttributionOptions
from .gradients.embedding_input import EmbeddingInput as EmbeddingInput
from .gradients.faithfulness import Faithfulness as Faithfulness
from .gradients.faithfulness import faithfulness as faithfulness
from .gradients.fisher import FisherInformation as FisherInformation
from .gradients.fisher import FisherOptions as FisherOptions
from .gradients.fisher import fisher_information as fisher_information
from .gradients.merge_pieces import TokenScores as TokenScores
from .gradients.merge_pieces import merge_pieces as merge_pieces
from .gradients.neighbors import EmbeddingNeighbors as EmbeddingNeighbors
from .gradients.neighbors import class_neighbors as class_neighbors
from .items import Items as Items
from .loading import Classifier as Classifier
from .loading import as_classifier as as_classifier
from .loading import load_classifier as load_classifier
from .loading import load_multiple_choice as load_multiple_choice
from .loading import load_question_answering as load_question_answering
from .packaged import demo_encoder as demo_encoder
from .packaged import demo_language_model as demo_language_model
from .prompting.parsing import parse_answer as parse_answer
from .prompting.prompt import Prompt as Prompt
from .prompting.prompted import Prompted as Prompted
from .prompting.rendering import Examples as Examples
from .protocol import Request as Request
from .scoring.causal import CausalLM as CausalLM
from .scoring.causal import load_causal as load_causal
from .scoring.choices import choose as choose
from .scoring.choices import is_joint as is_joint
from .scoring.choices import load_chooser as load_chooser
from .scoring.classes import load_scores as load_scores
from .scoring.classes import predict as predict
from .scoring.classes import predict_choices as predict_choices
from .scoring.local import LocalEngine as LocalEngine
from .scoring.spans import SpanAnswers as SpanAnswers
from .scoring.spans import predict_answers as predict_answers
from .servers.engine import ServerEngine as ServerEngine
from .servers.engine import open_server as open_server
from .servers.options import ServerOptions as ServerOptions

__all__ = [
    "AttributionOptions",
    "Attributions",
    "CausalLM",
    "Classifier",
    "EmbeddingInput",
    "EmbeddingNeighbors",
    "Examples",
    "Faithfulness",
    "FisherInformation",
    "FisherOptions",
    "Items",
    "LocalEngine",
    "Prompt",
    "Prompted",
    "Request",
    "ServerEngine",
    "ServerOptions",
    "SpanAnswers",
    "TokenScores",
    "as_classifier",
    "build_cnn",
    "choose",
    "class_neighbors",
    "demo_encoder",
    "demo_language_model",
    "faithfulness",
    "fisher_information",
    "glove_vectors",
    "integrated_gradients",
    "is_joint",
    "load_causal",
    "load_chooser",
    "load_classifier",
    "load_multiple_choice",
    "load_question_answering",
    "load_scores",
    "merge_pieces",
    "open_server",
    "parse_answer",
    "predict",
    "predict_answers",
    "predict_choices",
]
