"""The letters in outputs of inspect_ai."""

import math

from rightreasons.io.logs import letter_log_probabilities

# Log-probabilities of A and B, and the right letter: softmax gives 3/4, 3/5 and 1/2 to the answers A, B and A.
ITEMS = [((math.log(0.6), math.log(0.2)), "A"), ((math.log(0.3), math.log(0.45)), "A"), ((-1.0, -1.0), "A")]


def token(letter, pair):
    top = [{"token": name, "logprob": value} for name, value in zip("AB", pair, strict=True)]
    return {"token": letter, "logprob": pair["AB".index(letter)], "top_logprobs": top}


def test_letters_of_an_output():
    output = {"choices": [{"logprobs": {"content": [token("A", ITEMS[0][0])]}}]}
    assert letter_log_probabilities(output, 2, "A") == dict(zip("AB", ITEMS[0][0], strict=True))
    assert letter_log_probabilities(output, 2, "") == {}
