"""Options: declared once, frozen, strict, and checked wherever they come from."""

import pathlib

import numpy as np
import pydantic
import pytest

from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.options import (
    Options,
    QuestionOptions,
    accept_options_as_keywords,
    check_options,
    escape_text,
    format_names,
    option,
    parse_name_or_names,
    parse_names,
    unescape_text,
)


class Toy(Options):
    n_items: int | None = option(None, "Number of items.", minimum=1, maximum=9)
    share: float = option(0.5, "A share.", minimum=0.0, maximum=1.0)
    kind: str = option("fast", "A kind.", choices=("fast", "slow"))
    columns: tuple[str, ...] = option((), "Columns.")
    counts: tuple[int, ...] | None = option(None, "Counts.", minimum=0)
    quiet: bool = option(False, "No output.")

    def _check(self):
        if self.quiet and self.kind == "slow":
            raise OptionError("Expected no quiet slow toy.", option=("quiet", "kind"))


class Extended(Toy):
    extra: str = option("", "Something else.")


def test_options_are_frozen():
    toy = Toy()

    with pytest.raises(pydantic.ValidationError, match="frozen"):
        toy.share = 0.7

    assert toy.share == 0.5
    assert hash(toy) == hash(Toy())


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"n_items": "5"}, "n_items"),
        ({"n_items": 5.0}, "n_items"),
        ({"quiet": 1}, "quiet"),
        ({"quiet": "yes"}, "quiet"),
        ({"columns": "ab"}, "columns"),
        ({"columns": [1]}, "columns"),
        ({"kind": 3}, "kind"),
        ({"share": True}, "share"),
    ],
)
def test_options_are_strict(values, name):
    with pytest.raises(OptionTypeError) as error:
        Toy(**values)
    assert error.value.option == (name,)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"n_items": 0}, "n_items"),
        ({"n_items": 10}, "n_items"),
        ({"share": 1.5}, "share"),
        ({"share": float("nan")}, "share"),
        ({"kind": "fats"}, "kind"),
        ({"kind": ""}, "kind"),
        ({"counts": [1, -1]}, "counts"),
    ],
)
def test_limits_are_checked(values, name):
    with pytest.raises(OptionError) as error:
        Toy(**values)
    assert error.value.option == (name,)


def test_combinations_are_checked_in_the_constructor_and_in_copies():
    with pytest.raises(OptionError) as error:
        Toy(quiet=True, kind="slow")
    assert error.value.option == ("quiet", "kind")

    with pytest.raises(OptionError):
        Toy(quiet=True).replace(kind="slow")
    assert Toy(quiet=True).replace(share=1.0).to_dict()["quiet"] is True


def test_an_empty_text_is_a_value_only_where_it_is_the_default():
    assert Extended(extra="").extra == ""
    with pytest.raises(OptionError, match="empty"):
        Toy(kind="")


def test_values_become_plain():
    class Paths(Options):
        path: str = option("a", "A path.")
        size: int = option(1, "A size.")

    paths = Paths(path=pathlib.Path("a") / "b", size=np.int64(3))

    assert paths.to_dict() == {"path": "a/b", "size": 3}
    assert type(paths.size) is int
    assert Toy(columns=["x", "y"]).columns == ("x", "y")
    # An array of several values is no number.
    with pytest.raises(OptionTypeError):
        Paths(size=np.array([3]))


def test_positions_are_fields_in_their_order():
    assert Toy(3, 0.25) == Toy(n_items=3, share=0.25)


def test_an_unknown_keyword_is_a_type_error_with_the_nearest_name():
    with pytest.raises(TypeError, match="n_items"):
        Toy(n_item=3)


def test_names_of_a_subclass_come_before_those_of_its_base():
    assert Extended.list_names() == ("extra", *Toy.list_names())
    assert Toy.list_names()[0] == "n_items"


def test_read_takes_an_instance_a_mapping_or_nothing():
    toy = Toy(share=1.0)

    assert Toy.read(toy, "toy") is toy
    assert Toy.read(None, "toy") == Toy.read({}, "toy") == Toy()
    assert Toy.read({"share": 1.0}, "toy") == toy
    with pytest.raises(TypeError, match="by name"):
        Toy.read([("share", 1.0)], "toy")
    with pytest.raises(ValueError, match="shares"):
        Toy.read({"shares": 1.0}, "toy")


def test_changes_and_flags_leave_defaults_out():
    toy = Toy(n_items=3, columns=("a", "b,c"), quiet=True)

    assert toy.get_changes() == {"n_items": 3, "columns": ("a", "b,c"), "quiet": True}
    assert toy.to_flags() == ["--n-items", "3", "--columns", 'a,"b,c"', "--quiet"]
    assert toy.to_dict()["columns"] == ["a", "b,c"]

    class Loud(Options):
        loud: bool = option(True, "Output.")

    assert Loud(loud=False).to_flags() == ["--no-loud"]
    assert Loud().to_flags() == []


@pytest.mark.parametrize("text", ["\n", "\n\n", "Q:\t", "a\\n", "\\", "a,b\r\n", ""])
def test_escapes_are_read_as_they_were_written(text):
    assert "\n" not in escape_text(text)
    assert unescape_text(escape_text(text)) == text


def test_another_escape_is_refused():
    with pytest.raises(ValueError, match="escapes"):
        unescape_text("\\q")


def test_flags_escape_the_texts_of_an_option_that_says_so():
    class Stopping(Options):
        stop: tuple[str, ...] = option((), "Ends.", escaped=True)

    assert Stopping(stop=("\n", "Q,")).to_flags() == ["--stop", '\\n,"Q,"']
    assert Stopping.is_escaped("stop")
    assert not Toy.is_escaped("columns")


def test_a_question_needs_no_passes_of_its_own():
    assert QuestionOptions().passes(None) == 0.0


def make_function(**settings):
    @accept_options_as_keywords(Toy, **settings)
    def run(text, *, options, end="."):
        return text, options, end

    return run


def test_keywords_become_an_instance():
    run = make_function()

    assert run("a", share=1.0, end="!") == ("a", Toy(share=1.0), "!")
    assert run("a", options=Toy(share=1.0)) == run("a", options={"share": 1.0})
    with pytest.raises(TypeError, match="options"):
        run("a", options=Toy(), share=1.0)
    with pytest.raises(TypeError, match="shares"):
        run("a", shares=1.0)


def test_excluded_fields_are_no_keywords():
    run = make_function(exclude=("share",))

    assert run("a", kind="slow")[1] == Toy(kind="slow")
    with pytest.raises(TypeError, match="share"):
        run("a", share=1.0)


def test_the_owner_of_a_constructor_is_its_class():
    class Model:
        @accept_options_as_keywords(Toy)
        def __init__(self, *, options):
            self.options = options

    with pytest.raises(TypeError, match="Model"):
        Model(nothing=1)


def test_the_first_unknown_name_is_reported():
    check_options([], [], "nothing")
    with pytest.raises(ValueError, match="'b'"):
        check_options(["a", "b", "c"], ["a"], "toy")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (None, None),
        ("", []),
        (" , a ,", ["a"]),
        ('"a, b", c', ["a, b", "c"]),
        ('"say ""a"""', ['say "a"']),
    ],
)
def test_comma_separated_names(text, names):
    assert parse_names(text) == names
    if names:
        assert parse_names(format_names(names)) == names


def test_one_name_is_no_list():
    assert parse_name_or_names("a") == "a"
    assert parse_name_or_names("a,b") == ["a", "b"]
    assert parse_name_or_names(None) is None
    assert format_names(['"a"', "b"]) == '"""a""",b'
