"""Tables of known issues: how an entry is written, and the tables that this package ships.

A table is YAML (or JSON): a list of entries, or a mapping with the list under `issues`.

    - split: validation           # default: every split
      config: fine                # only this configuration; default: every one
      test: used to, but now      # only this test of a behavioral suite
      kind: conflicting_label     # a short name for reports
      rule: {conflict: {}}        # a rule of `issues.rules`; or the items themselves:
      hashes: [0a1b2c3d4e5f]      # hashes of items, see `rules.Item.compute_hash`
      ids: [validation-11]        # ids of items; with hashes, the ids only help readers
      count: 10                   # number of items found, asserted when the published file is read
      of: 1954                    # number of items of the split
      action: drop                # drop, relabel (with `to`), or note, which only counts
      drop: pair                  # what is dropped with an item; default: the item alone
      to: 1                       # the new label
      paper: beluga2023           # the paper that made the correction first
      default: true               # false: the entry documents, and does nothing
      evidence: verified          # verified, published (not verified here), or opinion
      why: ...
      source: ...

Only verified entries with `default: true` act. A published finding that cannot be verified on the
files at hand, and an opinion, are listed for readers and change nothing.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rightreasons.core.errors import OptionError, OptionFileError
from rightreasons.core.json_files import read_text
from rightreasons.datasets.issues.rules import get_other_split

TABLES = Path(__file__).with_name("tables")
"""Folder of the tables of this package: one file per data set."""

OPTION = "known_issues"
"""Name of the option in errors."""

OFF_WORDS = ("off", "none", "no", "false")
"""Words of a command line that turn the known issues off."""

KnownIssues: TypeAlias = "bool | str | os.PathLike[str] | None"
"""True for the package's table, False for none, or a file of further issues."""


def _make_list(value: Any) -> Any:
    # A table may give a single value without a list.
    return value if isinstance(value, (list, tuple)) else [value]


def _make_texts(value: Any) -> Any:
    # YAML reads ids that consist of digits as numbers.
    return [str(element) for element in _make_list(value)]


class Issue(BaseModel):
    """An entry of a table.

    Attributes:
        data: Name of the data set; None for any.
        split: The split; None for every split.
        config: The configuration; None for every configuration.
        test: The functionality of a behavioral suite; None for data sets.
        kind: Short name for reports, such as "conflicting_label".
        rule: Name of a rule -> its parameters; None if items are listed.
        hashes: Hashes of the items; empty with a rule.
        ids: Ids of the items. They select items only if there are no hashes.
        count: Number of items that the published file has; None to skip the check.
        n_items: Number of items of the split of the published file; None if unknown.
        action: "drop", "relabel" or "note".
        drop: What is dropped: the "item", its whole "pair", the "perturbed" item of a pair, or a
            "version" of a case of a suite.
        to: The new label, or several that are all correct.
        paper: Key of the paper that made this correction, for runs that repeat it; "" for none.
        default: Whether the entry acts.
        evidence: "verified", "published" or "opinion".
        reason: What is wrong, as a sentence.
        source: Where the issue was found or published.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: str | None = None
    split: str | None = None
    config: str | None = None
    test: str | None = None
    kind: str
    rule: Mapping[str, Mapping[str, Any]] | None = None
    hashes: Annotated[tuple[str, ...], BeforeValidator(_make_texts)] = ()
    ids: Annotated[tuple[str, ...], BeforeValidator(_make_texts)] = ()
    count: int | None = None
    n_items: int | None = Field(None, alias="of")
    action: Literal["drop", "relabel", "note"] = "note"
    drop: Literal["item", "pair", "perturbed", "version"] = "item"
    to: Annotated[tuple[int, ...], BeforeValidator(_make_list)] = ()
    paper: str = ""
    default: bool = True
    evidence: Literal["verified", "published", "opinion"] = "verified"
    reason: str = Field("", alias="why")
    source: str = ""

    @property
    def is_active(self) -> bool:
        """Whether the entry acts: it is verified, on by default, and finds items."""
        can_find = bool(self.rule or self.hashes or self.ids)
        return self.default and self.evidence == "verified" and can_find

    @property
    def other_split(self) -> str | None:
        """The split that the rule compares with; None if it needs none."""
        return get_other_split(self.rule)

    def is_about(self, data: str, config: str | None = None) -> bool:
        """Return whether the entry is about a data set and a configuration.

        Args:
            data: Name of the data set.
            config: Name of the configuration; None for any.
        """
        if self.data is not None and self.data != data:
            return False
        return self.config is None or config is None or self.config == config


def list_tables() -> list[str]:
    """Return the data sets that have a table in this package, sorted."""
    return sorted(file.stem for file in TABLES.glob("*.yaml"))


@functools.cache
def get_table(data: str) -> tuple[Issue, ...]:
    """Return the known issues that this package lists for a data set; empty if it has no table.

    Args:
        data: Name of the data set.
    """
    file = TABLES / f"{data}.yaml"
    if not file.is_file():
        return ()
    issues = []
    for issue in read_table(file):
        # The name of the data set is that of the file; the entries do not have it.
        issues.append(issue.model_copy(update={"data": data}))
    return tuple(issues)


def read_table(path: str | os.PathLike[str]) -> tuple[Issue, ...]:
    """Read a table of issues.

    Args:
        path: A YAML or JSON file, as the module docstring describes it.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not a table; the message names the entry and the field.
            `error.option` is "known_issues".
    """
    import yaml

    file = Path(path)
    if not file.is_file():
        raise OptionFileError(
            f"Expected `known_issues` to be a file of known issues, 'off', or True or False, but "
            f"there is no file at {file}.",
            option=OPTION,
        )
    try:
        content = yaml.safe_load(read_text(file))
    except yaml.YAMLError as error:
        raise OptionError(
            f"Expected a table of known issues in {file}, but the file is not valid YAML: "
            f"{' '.join(str(error).split())[:200]}.",
            option=OPTION,
        ) from error
    # A file may be a list of entries, or a mapping with the list under the key `issues`.
    entries = content.get("issues") if isinstance(content, Mapping) else content
    if not isinstance(entries, list) or not entries:
        raise OptionError(
            f"Expected a list of known issues in {file}, but got no issues.", option=OPTION
        )

    issues = []
    for number, entry in enumerate(entries, start=1):
        issues.append(_parse_issue(entry, f"entry {number} of {file}"))
    return tuple(issues)


def _parse_issue(entry: Any, location: str) -> Issue:
    """Check an entry of a table of known issues, and convert it.

    Args:
        entry: Entry of a YAML file: field -> value.
        location: Description of the entry for error messages, such as "entry 3 of my.yaml".

    Raises:
        ValueError: If a field is unknown, missing or invalid; the message names it.
    """
    try:
        issue = Issue.model_validate(entry)
    except ValidationError as error:
        first_error = error.errors()[0]
        # The error has no field if the entry is not a mapping.
        field = ".".join(map(str, first_error["loc"])) or "a mapping"
        raise OptionError(
            f"Expected a known issue in {location}, but `{field}` is invalid: {first_error['msg']}.",
            option=OPTION,
        ) from error
    # These conditions cannot be expressed by the types of the fields.
    if issue.rule is not None and len(issue.rule) != 1:
        raise OptionError(
            f"Expected one rule in {location}, but got {len(issue.rule)} rules.", option=OPTION
        )
    if issue.action == "relabel" and not issue.to:
        raise OptionError(
            f"Expected the new label as `to` in {location}, but `to` is missing.", option=OPTION
        )
    return issue


def parse_known_issues(known_issues: KnownIssues) -> bool | Path:
    """Parse the option `known_issues`.

    Args:
        known_issues: True, False, a word such as "on" or "off", the path of a table, or None for True.

    Returns:
        True to correct known issues, False to correct none, or the path of a user's own table.

    Raises:
        TypeError: If it is neither a bool, nor a string, nor a path.

    Example:
        >>> parse_known_issues(None), parse_known_issues("off"), str(parse_known_issues("my.yaml"))
        (True, False, 'my.yaml')
    """
    from rightreasons.core.validation import check_kind

    if known_issues is None:
        return True
    if isinstance(known_issues, bool):
        return known_issues
    check_kind(known_issues, OPTION, str | os.PathLike)
    word = os.fspath(known_issues).casefold()
    if word in OFF_WORDS:
        return False
    if word in ("on", "yes", "true"):
        return True
    return Path(known_issues)


def select_issues(
    known_issues: KnownIssues, data: str = "", config: str | None = None
) -> tuple[Issue, ...]:
    """Return the known issues of a data set that are to be corrected.

    Args:
        known_issues: True (or None) for the table of this package, False for no entries, or the path of a
            user's table, whose entries are added to those of this package.
        data: Name of the data set in the catalog; "" for a user's own data.
        config: Name of the configuration; None for entries about any configuration.
    """
    parsed = parse_known_issues(known_issues)
    if parsed is False:
        return ()
    # If two entries drop the same item, the first one counts it: that of this package.
    issues = get_table(data)
    if isinstance(parsed, Path):
        issues += read_table(parsed)
    return tuple(issue for issue in issues if issue.is_active and issue.is_about(data, config))
