"""Load the stop words by which predictions are lexicon- or grammar-cued.

The paper takes NLTK's English list, which is not part of the nltk package and has to be downloaded
once. The list of this package needs no download and is the default.
"""

from __future__ import annotations

from rightreasons.core.errors import OptionFileError
from rightreasons.core.extras import require_package
from rightreasons.core.tokens import STOP_WORDS


def load_stop_words(name: str = "rightreasons") -> frozenset[str]:
    """Return a list of English stop words in lower case.

    Args:
        name: "rightreasons" (default), the function words of this package, or "nltk", NLTK's list.

    Raises:
        ModuleNotFoundError: If nltk is not installed; the message names the extra.
        FileNotFoundError: If NLTK's list was not downloaded; the message names the command.

    Example:
        >>> sorted(load_stop_words() & {"the", "film", "of"})
        ['of', 'the']
    """
    if name == "rightreasons":
        return STOP_WORDS

    require_package("nltk")
    from nltk.corpus import stopwords

    # NLTK looks for its data in the home folder, in folders of the system, and in NLTK_DATA.
    try:
        words = stopwords.words("english")
    except (LookupError, OSError):
        raise OptionFileError(
            "Expected NLTK's list for stop_words='nltk', but the list is not downloaded. Run "
            "python -m nltk.downloader stopwords.",
            option="stop_words",
        ) from None
    return frozenset(words)
