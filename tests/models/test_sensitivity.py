"""The shares of words in the gradient of a choice equal those of one pair at a time."""

import numpy as np
import pytest
import torch

from rightreasons.core.errors import SetAsideWarning
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.models.gradients.sensitivity import cue_sensitivity, token_sensitivity
from tiny_encoders import CHOICE_ARCHITECTURES, tiny_encoder

PROMPTS = ["the rain fell because", "the man broke the glass so", "what"]
CHOICES = [
    ["the film was good", "sun"],
    ["a dull plot and a very bad actor, and the woman fell", "the glass broke!"],
    ["It was wet", "dry", "the story was fine but poor"],
]


@pytest.fixture(params=CHOICE_ARCHITECTURES)
def classifier(request):
    return tiny_encoder(request.param, n_labels=None, double=True)


def compute_shares(classifier, prompt, choice):
    """Return the gradient shares of the tokens of one pair, by the model's own `inputs_embeds`.

    Returns:
        The share of each token; its (start, end) characters; whether it is of the choice; the score.
    """
    inputs = classifier.tokenizer(prompt, choice, return_tensors="pt", return_offsets_mapping=True)
    offsets = inputs.pop("offset_mapping")[0].tolist()
    is_of_choice = [sequence == 1 for sequence in inputs.sequence_ids(0)]
    table = classifier.model.get_input_embeddings()
    embeddings = table(inputs.pop("input_ids")).detach().requires_grad_(True)
    # An item with a single choice.
    other_inputs = {name: tensor.unsqueeze(1) for name, tensor in inputs.items()}
    output = classifier.model(inputs_embeds=embeddings.unsqueeze(1), **other_inputs)
    score = output.logits[0, 0]
    (gradient,) = torch.autograd.grad(score, embeddings)
    norms = gradient[0].norm(dim=-1)
    return (norms / norms.sum()).numpy(), offsets, is_of_choice, float(score.detach())


def sum_by_word(ends, shares, offsets, is_of_choice):
    """Return the share of each word of a choice, by the words' last characters."""
    totals = np.zeros(len(ends))
    for share, (start, end), is_choice in zip(shares, offsets, is_of_choice, strict=True):
        # A piece of these texts is inside a word, or it is the space before one.
        if is_choice and end > start:
            word = next(index for index, word_end in enumerate(ends) if word_end > start)
            totals[word] += share
    return totals


class TestSensitivity:
    def test_shares_are_those_of_one_pair_at_a_time(self, classifier):
        result = token_sensitivity(classifier, PROMPTS, CHOICES, batch_size=7, progress=False)

        pairs = []
        for prompt, choices in zip(PROMPTS, CHOICES, strict=True):
            pairs += [(prompt, choice) for choice in choices]
        for k, (prompt, choice) in enumerate(pairs):
            shares, offsets, is_of_choice, score = compute_shares(classifier, prompt, choice)
            assert result.scores[k] == pytest.approx(score, abs=1e-9)
            rows = slice(result.offsets[k], result.offsets[k + 1])
            matches = list(WORD_PATTERN.finditer(choice))
            assert list(result.words[rows]) == [match.group().lower() for match in matches]
            ends = [match.end() for match in matches]
            expected = sum_by_word(ends, shares, offsets, is_of_choice)
            np.testing.assert_allclose(result.shares[rows], expected, atol=1e-9)
        assert result.item.tolist() == [0, 0, 1, 1, 2, 2, 2]

    def test_the_model_is_unchanged(self, classifier):
        classifier.model.train()

        token_sensitivity(classifier, PROMPTS, CHOICES, progress=False)

        assert classifier.model.training
        for parameter in classifier.model.parameters():
            assert parameter.requires_grad
            assert parameter.grad is None
        classifier.model.eval()


class TestCues:
    @pytest.fixture(scope="class")
    def bert(self):
        return tiny_encoder("bert", n_labels=None)

    def test_a_cue_has_the_mean_over_its_occurrences_in_choices(self, bert):
        result = token_sensitivity(bert, PROMPTS, CHOICES, progress=False)
        words = np.array(result.words)

        (the,) = cue_sensitivity(result, ["the"])
        assert the.count == 4
        assert the.sensitivity == pytest.approx(result.shares[words == "the"].mean())
        # Words that are only in prompts are no cues of the choices.
        assert cue_sensitivity(result, ["rain", "unknown"]) == ()

        counts = [cue.count for cue in cue_sensitivity(result)]
        assert sum(counts) == len(words)
        assert counts == sorted(counts, reverse=True)

    def test_the_shares_of_a_choice_are_less_than_one(self, bert):
        result = token_sensitivity(bert, PROMPTS, CHOICES, progress=False)

        sums = np.add.reduceat(result.shares, result.offsets[:-1])
        assert ((sums > 0) & (sums < 1)).all()

    def test_long_choices_are_truncated(self, bert):
        choices = [["the film was good " * 9, "sun"]]

        result = token_sensitivity(bert, ["the man"], choices, max_length=12, progress=False)

        assert result.words[-1] == "sun"
        assert len(result.words) == result.offsets[-1] < 12

    def test_stored_shares_are_read_again_for_the_same_items(self, bert, tmp_path):
        computed = token_sensitivity(bert, PROMPTS, CHOICES, progress=False, out=tmp_path)
        stored = token_sensitivity(bert, PROMPTS, CHOICES, progress=False, out=tmp_path)

        assert (computed.shares == stored.shares).all()
        with pytest.warns(SetAsideWarning, match="differs in ids and texts"):
            token_sensitivity(bert, PROMPTS[:1], CHOICES[:1], progress=False, out=tmp_path)

    @pytest.mark.parametrize(
        ("prompts", "choices", "message"),
        [
            (["a"], [["x"]], "of `choices`"),
            (["a", "b"], [["x", "y"]], "`prompts` and `choices` of one length"),
        ],
    )
    def test_invalid_choices_and_classifiers_are_refused(self, bert, prompts, choices, message):
        with pytest.raises(ValueError, match=message):
            token_sensitivity(bert, prompts, choices, progress=False)
        with pytest.raises(ValueError, match="bert is a classifier"):
            token_sensitivity(tiny_encoder("bert"), ["a"], [["x", "y"]], progress=False)
