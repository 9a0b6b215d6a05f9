"""The tables of known issues: their form, and that the published files hold what they say."""

import pytest

from rightreasons.core.errors import OptionError, OptionFileError
from rightreasons.datasets.builder import CATALOG, load_builder
from rightreasons.datasets.issues.correcting import correct_rows
from rightreasons.datasets.issues.rules import RULES, make_item, split_rule
from rightreasons.datasets.issues.table import (
    Issue,
    get_table,
    list_tables,
    parse_known_issues,
    read_table,
    select_issues,
)
from rightreasons.datasets.suites.correcting import SUITE_RULES

ENTRIES = [(data, issue) for data in list_tables() for issue in get_table(data)]


def describe_entry(value):
    return value if isinstance(value, str) else f"{value.split}-{value.test or ''}-{value.kind}"


def test_the_tables_have_the_92_entries():
    assert len(ENTRIES) == 92


@pytest.mark.parametrize(("data", "issue"), ENTRIES, ids=describe_entry)
def test_an_entry_is_complete(data, issue):
    # IMDb itself is no data set of this package; its entry is for readers.
    assert data in CATALOG or data == "imdb"
    assert issue.reason
    assert issue.source
    if issue.rule is not None:
        name, _ = split_rule(issue.rule)
        assert name in (SUITE_RULES if issue.test else RULES)


@pytest.mark.parametrize(("data", "issue"), ENTRIES, ids=describe_entry)
def test_opinions_and_unverified_findings_never_act(data, issue):
    if issue.evidence != "verified":
        assert not issue.is_active
    if issue.evidence == "opinion":
        assert not issue.default


@pytest.mark.parametrize(("data", "issue"), ENTRIES, ids=describe_entry)
def test_a_test_item_is_never_dropped_because_of_a_training_item(data, issue):
    if issue.other_split is not None and issue.action == "drop":
        assert issue.split == "train"


def list_checked_entries():
    checked = []
    for data, issue in ENTRIES:
        if data != "imdb" and issue.test is None and (issue.rule or issue.hashes):
            checked.append((data, issue))
    return checked


@pytest.fixture(scope="module")
def read_published(real_data):
    """Return a function that reads the rows of a split as released, once."""
    cache = {}

    def read(data, config, split):
        key = (data, config, split)
        if key not in cache:
            builder = load_builder(data, config, data_dir=real_data, known_issues=False)
            files = {path: builder.files[path] for path in builder.splits()[split]}
            cache[key] = list(builder._read_split(split, files))
        return cache[key]

    return read


@pytest.mark.real_data
@pytest.mark.parametrize(("data", "issue"), list_checked_entries(), ids=describe_entry)
def test_the_published_files_hold_the_issue_as_often_as_the_table_says(read_published, data, issue):
    rows = read_published(data, issue.config, issue.split)

    # Every entry acts here, so that those that are off are verified too.
    found = correct_rows(
        rows,
        [issue.model_copy(update={"action": "note"})],
        split=issue.split,
        read_split=lambda name: read_published(data, issue.config, name),
        is_published=True,
    )

    assert len(rows) == issue.n_items
    assert [count.n_items for count in found.counts] == [issue.count]


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("data", "issue"),
    [(data, issue) for data, issue in list_checked_entries() if issue.hashes],
    ids=describe_entry,
)
def test_ids_and_hashes_name_the_same_items(read_published, data, issue):
    rows = read_published(data, issue.config, issue.split)

    hashes = {str(row["id"]): make_item(row).compute_hash() for row in rows}

    assert {hashes[key] for key in issue.ids} == set(issue.hashes)


# ------------------------------------------------------------------------------------------ files


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "list of known issues"),
        ("[{kind: a, colour: red}]", "colour"),
        ("[{kind: a, action: burn}]", "action"),
        ("[{rule: {conflict: {}}}]", "kind"),
        ("[{kind: a, rule: {conflict: {}, hidden: {}}}]", "one rule"),
        ("[{kind: a, ids: [x], action: relabel}]", "new label"),
        ("{a: [", "valid YAML"),
    ],
)
def test_a_table_of_another_form_names_the_option(tmp_path, content, words):
    file = tmp_path / "issues.yaml"
    file.write_text(content, "utf-8")

    with pytest.raises(OptionError, match=words) as error:
        read_table(file)

    assert error.value.option == ("known_issues",)


def test_a_missing_table_names_the_option(tmp_path):
    with pytest.raises(OptionFileError, match="no file") as error:
        read_table(tmp_path / "none.yaml")

    assert error.value.option == ("known_issues",)


@pytest.mark.parametrize("word", ["off", "OFF", "none", "no", "false"])
def test_a_word_turns_the_tables_off(word):
    assert parse_known_issues(word) is False
    assert select_issues(word, "socialiqa") == ()


def test_entries_of_a_users_file_join_those_of_the_package(tmp_path):
    file = tmp_path / "issues.yaml"
    file.write_text("[{data: socialiqa, kind: mine, ids: validation-3, action: drop}]", "utf-8")

    joined = select_issues(file, "socialiqa")

    assert joined[:-1] == select_issues(True, "socialiqa")
    assert joined[-1].kind == "mine"
    assert select_issues(file, "piqa") == select_issues(True, "piqa")


def test_an_entry_without_rule_and_items_does_not_act():
    assert not Issue(kind="published_study").is_active
