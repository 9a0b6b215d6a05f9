"""Count what the irony and hate sets of TweetEval give away, and write docs/evidence/tweeteval_irony.md.

    python datasets_scripts/tweeteval_facts.py --data FOLDER --write

`FOLDER` holds TweetEval's `datasets` as `tweeteval/`. Without `--write` the page is printed.
"""

import argparse
import re
from pathlib import Path

from rightreasons.datasets.files import read_lines

PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "tweeteval_irony.md"

# The hashtags by which the ironic tweets were collected (Van Hee et al. 2018, section 3.1).
HASHTAG = re.compile(r"#(irony|ironic|sarcasm|not)\b", re.IGNORECASE)

TEXT = """# TweetEval: the irony test split names its label, and the hate test split is in train

The script `datasets_scripts/tweeteval_facts.py` computes the numbers on this page from the released files.

## Irony

The organizers of SemEval-2018 task 3 collected the ironic tweets by the hashtags #irony, #sarcasm and #not. In
`datasets/irony`, these hashtags were removed from the training and validation splits, but not from the test split:

| split | tweets | ironic | ironic with the hashtag | others with the hashtag |
|---|---:|---:|---:|---:|
{rows}

A rule that predicts "irony" for every tweet with such a hashtag is correct on {accuracy:.1%} of the test tweets
(F1 of irony {f1:.3f}, recall {recall:.3f}, precision {precision:.3f}). A model that was pretrained on tweets, or a
prompted language model, can use this rule. The organizers' README (Cyvhee/SemEval2018-Task3) says that "Irony-related
hashtags will NOT be present in the test set", so the released file is probably an earlier version.

To evaluate a model on this split, remove all matches of `#(irony|ironic|sarcasm|not)\\b` from `test_text.txt`, or
report the score both with and without these hashtags.

## Hate

In `datasets/hate`, {n_overlap} of the {n_test:,} test tweets also occur in the training split, character by
character. Of these tweets, {n_conflict} are labeled hateful in the training split and not hateful in the test split.
A model that memorizes the training split is therefore incorrect on at least {conflict_share:.1%} of the test split.

To correct the data, remove the {n_train_copies} copies from the training split. The test split does not change, so
scores stay comparable with published ones.

## In this package

The package lists both problems as known issues. `load_dataset("tweeteval_hate")` drops the training copies unless you
pass `known_issues=False`. To find out whether a model relies on the hashtags of the other set, run
`rightreasons audit MODEL tweeteval_irony --split test --questions shortcuts`.
"""


def read_split(folder, split):
    """Return the tweets of a split that are not blank, with their labels."""
    texts = read_lines(folder / f"{split}_text.txt")
    labels = read_lines(folder / f"{split}_labels.txt")
    pairs = []
    for text, label in zip(texts, labels, strict=True):
        if text.strip():
            pairs.append((text.strip(), int(label)))
    return pairs


def count_hashtags(pairs):
    """Return the number of tweets with and without the hashtag, by label."""
    counts = {(label, has_hashtag): 0 for label in (0, 1) for has_hashtag in (False, True)}
    for text, label in pairs:
        counts[label, HASHTAG.search(text) is not None] += 1
    return counts


def write_page(data):
    """Return the page with the counts of the files in a folder."""
    rows = []
    for split in ("train", "val", "test"):
        counts = count_hashtags(read_split(data / "irony", split))
        n_ironic = counts[1, True] + counts[1, False]
        n_tweets = sum(counts.values())
        rows.append(
            f"| {split} | {n_tweets:,} | {n_ironic:,} | {counts[1, True]} | {counts[0, True]} |"
        )
    # `counts` are those of the test split now.
    precision = counts[1, True] / (counts[1, True] + counts[0, True])
    recall = counts[1, True] / n_ironic

    train = read_split(data / "hate", "train")
    test = read_split(data / "hate", "test")
    labels_by_text = {}
    for text, label in train:
        labels_by_text.setdefault(text, set()).add(label)
    overlap = [(text, label) for text, label in test if text in labels_by_text]
    conflicts = [label for text, label in overlap if label not in labels_by_text[text]]
    if any(conflicts):
        raise ValueError(
            "Expected all conflicting test tweets to be not hateful, as the page says."
        )
    test_texts = {text for text, _ in test}
    return TEXT.format(
        rows="\n".join(rows),
        accuracy=(counts[1, True] + counts[0, False]) / n_tweets,
        f1=2 * precision * recall / (precision + recall),
        recall=recall,
        precision=precision,
        n_overlap=len(overlap),
        n_test=len(test),
        n_conflict=len(conflicts),
        conflict_share=len(conflicts) / len(test),
        n_train_copies=sum(text in test_texts for text, _ in train),
    )


def main():
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds tweeteval/")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    page = write_page(options.data / "tweeteval")
    if options.write:
        PAGE.write_text(page, "utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
