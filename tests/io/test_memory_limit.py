"""The limit of the memory that the evaluation of an expression may use."""

import pytest

from rightreasons.io import bounds

resource = pytest.importorskip("resource", reason="a system without limits of memory")


@pytest.fixture
def limit(monkeypatch):
    """Let a block of code use 200 MiB more than the process."""
    if bounds._get_address_space() == 0:
        pytest.skip("the system does not report the address space of a process")
    monkeypatch.setattr(bounds, "MAX_EXTRA_BYTES", 200 << 20)
    return resource.getrlimit(resource.RLIMIT_AS)


def test_more_memory_than_the_limit_is_refused_and_less_is_not(limit):
    with bounds.limit_memory():
        assert len(bytearray(50 << 20)) == 50 << 20
        with pytest.raises(MemoryError):
            bytearray(400 << 20)

    assert resource.getrlimit(resource.RLIMIT_AS) == limit


def test_the_limit_ends_with_an_error(limit):
    with pytest.raises(ZeroDivisionError), bounds.limit_memory():
        1 / 0  # noqa: B018

    assert resource.getrlimit(resource.RLIMIT_AS) == limit


def test_a_lower_limit_of_the_process_is_not_raised(limit, monkeypatch):
    lower = bounds._get_address_space() + (100 << 20)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (lower, limit[1]))
    changes = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: changes.append(limits))

    with bounds.limit_memory():
        pass

    assert changes == []
