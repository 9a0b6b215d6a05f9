"""Orders of the choices of an item: all of them for up to three choices, the cyclic ones for more."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

MAX_CHOICES_OF_ALL_ORDERS = 3
"""Largest number of choices of which all orders are asked: six. Of more, only the cyclic ones are."""


def list_choice_orders(n: int) -> NDArray[np.int64]:
    """List the orders in which the choices of an item are displayed to a model.

    For up to three choices, these are all orders; for more, only the n cyclic ones.

    Args:
        n: Number of choices.

    Returns:
        (R, n) the choice at each position under each of R orders. The first one is 0, 1, …, n - 1.

    Example:
        >>> list_choice_orders(4).tolist()
        [[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]]
    """
    # Row r is the cyclic order r, in which position j has choice (j + r) mod n.
    numbers = np.arange(n)
    cyclic_orders = (numbers[:, None] + numbers) % n
    if n > MAX_CHOICES_OF_ALL_ORDERS:
        return cyclic_orders
    # The cyclic orders come first, because the prior of PriDe (Zheng et al. 2024) is estimated from
    # the first n orders.
    orders = list(map(tuple, cyclic_orders.tolist()))
    for order in itertools.permutations(range(n)):
        if order not in orders:
            orders.append(order)
    return np.array(orders)


def name_order(number: int) -> str:
    """Return the name of an order of the choices, as the ids of requests contain it.

    Example:
        >>> name_order(1)
        'order 1'
    """
    return f"order {number}"


def describe_choice_orders(n_choices: int) -> str:
    """Describe the orders in which the choices of an item are displayed.

    Example:
        >>> describe_choice_orders(2), describe_choice_orders(3), describe_choice_orders(4)
        ('both orders', 'all 6 orders', 'all 4 cyclic orders')
    """
    if n_choices == 2:
        return "both orders"
    if n_choices <= MAX_CHOICES_OF_ALL_ORDERS:
        return f"all {math.factorial(n_choices)} orders"
    return f"all {n_choices} cyclic orders"
