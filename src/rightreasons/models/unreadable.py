"""Files, folders and objects that are no model of transformers, and how to open them.

A file is recognized by its first bytes, a folder by the files in it, and an object by the package
of its type. Nothing is loaded: a pickle runs code when it is opened.
"""

from __future__ import annotations

import re
from pathlib import Path

OBJECT_ADVICE = (
    "load it in a Python file with a function that returns the probabilities of texts, and name "
    "that as my_model.py:function"
)
"""The way that works for every model that Python can run."""

_SPACY_SCORES = "[doc.cats for doc in nlp.pipe(texts)]"
_FASTTEXT_SCORES = (
    "[{name.removeprefix('__label__'): p for name, p in zip(*answer)} "
    "for answer in zip(*model.predict(texts, k=-1))]"
)
SCORES_BY_PACKAGE = {"spacy": _SPACY_SCORES, "fasttext": _FASTTEXT_SCORES}
"""Package -> the scores of texts by class, which its models do not return by themselves."""

_MAGIC_BYTES = {
    b"PK\x03\x04": "an archive, as torch.save writes it",
    b"\xba\x16\x4f\x2f": "a model of fastText",
    b"\x89HDF": "an HDF5 file, as Keras writes it",
    b"\x1f\x8b": "a compressed file, as joblib writes it",
    b"BZh": "a compressed file, as joblib writes it",
    b"x\x9c": "a compressed file, as joblib writes it",
}
_WEIGHT_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".safetensors")
_PICKLE_SUFFIXES = (".joblib", ".pkl", ".pickle")
_MAX_HEADER_BYTES = 4096


def describe_file(path: Path) -> str:
    """Return the error message for a file in place of a model: its type, and what to do instead.

    The file is recognized by its first bytes or its suffix, and is not loaded.

    Example:
        >>> import pickle, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "model.bin"
        >>> _ = path.write_bytes(pickle.dumps([1.5]))
        >>> describe_file(path).split(": ")[0].split(", but ")[1].replace(str(path), "model.bin")
        'model.bin is a pickle, which is never opened'
    """
    expected = "Expected the model as a folder, a hub id or module.py:function, but"
    with path.open("rb") as file:
        header = file.read(_MAX_HEADER_BYTES)
    if _is_pickle(header) or path.suffix in _PICKLE_SUFFIXES:
        return f"{expected} {path} is a pickle, which is never opened: {OBJECT_ADVICE}."
    for magic, kind in _MAGIC_BYTES.items():
        if header.startswith(magic):
            return f"{expected} {path} is {kind}: {OBJECT_ADVICE}."
    # A file of safetensors begins with 8 bytes for the length of a JSON header, and the header.
    if header[8:9] == b"{":
        return (
            f"{expected} {path} is a file of weights: name its folder, with the config.json and the "
            "tokenizer."
        )
    if path.suffix == ".py":
        return f"{expected} {path} is a Python file: name a function in it, as {path}:predict."
    if _is_text(header):
        return f"{expected} {path} is a text file: the model comes first, and then the data."
    return f"{expected} {path} is a file of an unknown type: {OBJECT_ADVICE}."


def describe_folder(folder: Path) -> str:
    """Return the error message for a folder without a model: its content, and what to do instead.

    Args:
        folder: A folder without a config.json.
    """
    expected = f"Expected {folder} to be a model folder with a config.json, but it holds"
    names = sorted(path.name for path in folder.iterdir())
    if not names:
        return f"{expected} nothing."
    checkpoint = _find_last_checkpoint(folder)
    if checkpoint is not None:
        return f"{expected} checkpoints of a training: name one of them, such as {checkpoint}."
    # sentence-transformers lists the modules that a text passes through.
    if "modules.json" in names:
        return f"{expected} modules of sentence-transformers: {OBJECT_ADVICE}."
    # spaCy stores the configuration of its pipeline next to a description of the package.
    if "config.cfg" in names and "meta.json" in names:
        return (
            f"{expected} a pipeline of spaCy: in a Python file, define a function of texts that "
            f"returns {_SPACY_SCORES}, and name it as my_model.py:function."
        )
    if "model_index.json" in names:
        return f"{expected} a pipeline of diffusers, which has no classes of texts."
    model_folder = _find_model_folder(folder)
    if model_folder is not None:
        return f"{expected} the model folder {model_folder}: name that one."
    pickles = [name for name in names if Path(name).suffix in _PICKLE_SUFFIXES]
    if pickles:
        return f"{expected} {pickles[0]}, a pickle, which is never opened: {OBJECT_ADVICE}."
    # A state dict does not say which model it belongs to, so that nobody but the user can build it.
    weights = [name for name in names if Path(name).suffix in _WEIGHT_SUFFIXES]
    if weights:
        return (
            f"{expected} {weights[0]}, weights alone: load them into their model by "
            "`load_state_dict`, without a prefix such as 'module.' or '_orig_mod.' that a wrapper "
            "adds to their names, and save it and its tokenizer by `save_pretrained`."
        )
    file_names = ", ".join(names[:5])
    if len(names) > 5:
        file_names += ", …"
    return f"{expected} {file_names}: {OBJECT_ADVICE}."


def describe_object(model: object) -> str:
    """Return the error message for an object of spaCy or fastText in place of a model.

    The message says how to wrap the object in a function. It is empty for any other object.

    Example:
        >>> describe_object(lambda texts: [0.5 for text in texts])
        ''
    """
    # Base classes are tested as well, because a user may derive a class from one of these.
    for kind in type(model).__mro__:
        package = kind.__module__.partition(".")[0]
        scores = SCORES_BY_PACKAGE.get(package)
        if scores is not None:
            return (
                f"Expected a function of texts, but got an object of {package} "
                f"({type(model).__name__}): pass lambda texts: {scores}."
            )
    return ""


def find_other_input(architectures: list[str]) -> str:
    """Return the main input of architectures of transformers if it is not text; otherwise "".

    Example:
        >>> find_other_input(["ViTForImageClassification"])
        'pixel_values'
        >>> find_other_input(["BertForSequenceClassification"])
        ''
    """
    import transformers

    for name in architectures:
        architecture = getattr(transformers, name, None)
        # Each class of transformers states its main input.
        main_input = getattr(architecture, "main_input_name", "input_ids")
        if main_input != "input_ids":
            return str(main_input)
    return ""


def _is_pickle(header: bytes) -> bool:
    """Return whether bytes begin as a pickle of protocol 2 or later."""
    return header[:1] == b"\x80" and header[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def _is_text(header: bytes) -> bool:
    """Return whether the first bytes of a file are text in UTF-8."""
    if b"\0" in header:
        return False
    try:
        header.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character, which has up to four bytes, may be incomplete.
        return error.start > len(header) - 4
    return True


def _find_model_folder(folder: Path) -> Path | None:
    """Return the first model folder in a folder or one of its subfolders; None if there is none."""
    # The cache of the hub stores a model in snapshots/REVISION.
    for pattern in ("*/config.json", "*/*/config.json"):
        for path in sorted(folder.glob(pattern)):
            return path.parent
    return None


def _find_last_checkpoint(folder: Path) -> Path | None:
    """Return the last checkpoint of a Trainer in a folder (checkpoint-500), None without any."""
    last_step = -1
    last_checkpoint = None
    for path in folder.iterdir():
        match = re.fullmatch(r"checkpoint-(\d+)", path.name)
        if match is not None and int(match[1]) > last_step:
            last_step = int(match[1])
            last_checkpoint = path
    return last_checkpoint
