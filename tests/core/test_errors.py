"""Errors name the options that cause them, and read well in one line."""

import errno

import httpx
import pytest

from rightreasons.core.errors import (
    MAX_MESSAGE_CHARS,
    OptionConnectionError,
    OptionError,
    OptionFileError,
    OptionTypeError,
    SetAsideWarning,
    attach_options,
    format_error,
    get_first_line,
    is_fatal_disk_error,
    is_user_error,
    make_unknown_name_error,
    warn_stored_results,
)


@pytest.mark.parametrize(
    ("error_type", "builtin_type"),
    [
        (OptionError, ValueError),
        (OptionTypeError, TypeError),
        (OptionFileError, FileNotFoundError),
        (OptionConnectionError, ConnectionError),
    ],
)
def test_an_error_of_an_option_is_the_builtin_error_and_names_the_option(error_type, builtin_type):
    error = error_type("Expected it.", option="seed")

    assert isinstance(error, builtin_type)
    assert str(error) == "Expected it."
    assert error.option == ("seed",)
    assert error_type("Expected both.", option=["a", "b"]).option == ("a", "b")
    assert error_type().option == ()


@pytest.mark.parametrize(
    ("error_type", "option_error_type"), [(ValueError, OptionError), (TypeError, OptionTypeError)]
)
def test_options_are_attached_to_an_error_of_the_same_type(error_type, option_error_type):
    with pytest.raises(option_error_type, match="Expected it") as caught, attach_options("a", "b"):
        raise error_type("Expected it.")

    assert caught.value.option == ("a", "b")


def test_an_error_that_names_its_option_stays_as_it_is():
    original = OptionError("Expected it.", option="seed")

    with pytest.raises(OptionError) as caught, attach_options("other"):
        raise original

    assert caught.value is original


def test_options_are_not_attached_to_other_errors():
    with pytest.raises(KeyError) as caught, attach_options("seed"):
        raise KeyError("seed")

    assert not hasattr(caught.value, "option")


@pytest.mark.parametrize(
    "error",
    [
        ValueError(),
        TypeError(),
        OSError(),
        ImportError(),
        httpx.ConnectError("Name or service not known"),
        RuntimeError("No space left on device (os error 28)"),
    ],
)
def test_users_cause_invalid_values_and_failures_of_disk_and_network(error):
    assert is_user_error(error)


@pytest.mark.parametrize("error", [KeyError("text"), RuntimeError("weights"), AssertionError()])
def test_all_other_errors_are_mistakes_of_ours(error):
    assert not is_user_error(error)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_full_read_only_or_broken_disk_is_fatal(code):
    assert is_fatal_disk_error(OSError(code, "no"))


@pytest.mark.parametrize("error", [PermissionError(errno.EACCES, "no"), ValueError(errno.EIO)])
def test_other_errors_are_not_fatal(error):
    assert not is_fatal_disk_error(error)


@pytest.mark.parametrize("link", ["__cause__", "__context__"])
def test_a_full_disk_is_found_among_the_causes(link):
    # Libraries wrap the error of the system, sometimes more than once.
    error, wrapper = RuntimeError("cannot save"), RuntimeError("cannot train")
    setattr(error, link, OSError(errno.ENOSPC, "full"))
    setattr(wrapper, link, error)

    assert is_fatal_disk_error(wrapper)
    assert is_user_error(wrapper)
    assert not is_fatal_disk_error(RuntimeError("cannot save"))


def test_a_printed_array_is_joined_but_a_line_break_in_a_name_is_escaped():
    array_error = ValueError("Expected 2 rows, but got\n [[1]\n  [2]].")
    name_error = ValueError("Expected a column, but got a\nb\u202e.")

    assert format_error(array_error) == "Expected 2 rows, but got [[1] [2]]."
    assert format_error(name_error) == r"Expected a column, but got a\nb\u202e."


def test_a_long_message_keeps_its_beginning_and_its_end():
    message = f"Expected a column, but got {'x' * 100_000}: name it."

    line = format_error(ValueError(message))

    assert len(line) == MAX_MESSAGE_CHARS == 1000
    assert line.startswith("Expected a column")
    assert line.endswith("x: name it.")
    # 498 characters, " … " and 499 characters.
    assert line[498:501] == " … "


def test_a_message_of_the_maximum_length_is_whole():
    message = "y" * MAX_MESSAGE_CHARS

    assert format_error(ValueError(message)) == message


def test_an_error_of_the_operating_system_names_its_file(tmp_path):
    with pytest.raises(IsADirectoryError) as caught:
        tmp_path.read_text("utf-8")

    assert (
        format_error(caught.value) == f"Expected access to '{tmp_path}', but got: is a directory."
    )
    assert format_error(PermissionError(13, "Denied")) == "Expected access, but got: denied."


def test_a_full_disk_names_the_file_that_was_written():
    error = RuntimeError("cannot save")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device", "index.html")

    assert "to write 'index.html', but the disk is full" in format_error(error)
    # numpy reports a descriptor instead of a name.
    assert "the disk, but the disk is full" in format_error(OSError(errno.ENOSPC, "full", 7))


def test_an_error_of_the_network_names_its_type():
    error = httpx.ConnectError("Name or service not known")

    assert format_error(error) == (
        "Expected an answer from the network, but got ConnectError: Name or service not known."
    )
    assert format_error(httpx.ReadTimeout("")) == (
        "Expected an answer from the network, but got ReadTimeout."
    )


def test_a_mistake_of_ours_names_its_type():
    assert format_error(KeyError("text")) == "An error inside rightreasons: KeyError: 'text'."
    assert format_error(AssertionError()) == "An error inside rightreasons: AssertionError."


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("The device is lost.", "The device is lost."),
        ("The device is lost", "The device is lost."),
        ("Is it lost?", "Is it lost?"),
        ("It is lost...", "It is lost..."),
    ],
)
def test_a_quoted_message_ends_its_sentence_once(message, expected):
    crash = RuntimeError(message)
    quoting = ValueError(f"Expected a device, but got: {message}.")

    assert format_error(crash) == f"An error inside rightreasons: RuntimeError: {expected}"
    assert format_error(quoting) == f"Expected a device, but got: {expected}"
    assert format_error(ValueError("lost...")) == "lost..."


def test_an_error_without_a_message_is_its_type():
    assert format_error(ValueError()) == "ValueError"
    assert get_first_line(ValueError()) == "ValueError"


def test_the_first_line_has_at_most_300_characters():
    assert get_first_line(ValueError("\n one\ntwo")) == "one"
    assert len(get_first_line(ValueError("x" * 400))) == 300


def test_an_unknown_name_lists_the_known_ones():
    error = make_unknown_name_error("option", "eec\n", ["lmi", "ece"])

    assert isinstance(error, ValueError)
    assert str(error) == (
        r"Expected the name of an option, but got 'eec\n'. Did you mean 'ece'? Known: ece, lmi."
    )
    many = make_unknown_name_error("module", "aaaa", ["aaab", "aaac", "aaad"])
    assert str(many).count(" or ") == 1


def test_a_warning_about_stored_results_points_at_the_caller():
    def find_damage():
        warn_stored_results("It is damaged.")

    with pytest.warns(SetAsideWarning, match="damaged") as caught:
        find_damage()

    assert caught[0].filename == __file__
    # The line that called `find_damage`.
    assert caught[0].lineno == find_damage.__code__.co_firstlineno + 4
