"""A run that is killed in the middle."""

import functools


def killed_at(function, call=1):
    """Return the function, interrupted at one of its calls, counted from 1; `calls` tells how many there were."""

    @functools.wraps(function)
    def interrupted(*args, **kwargs):
        interrupted.calls += 1
        if interrupted.calls == call:
            raise KeyboardInterrupt
        return function(*args, **kwargs)

    interrupted.calls = 0
    return interrupted
