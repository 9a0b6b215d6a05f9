"""Clusters are numbered by name, and their values add up."""

import numpy as np
import pytest

from rightreasons.core import clusters as clusters_module
from rightreasons.core.clusters import (
    average_units,
    count_numbered_units,
    count_units,
    list_members,
    number_clusters,
    number_clusters_by_item,
    pool_units,
    select_clusters,
    sum_rows,
    sum_units,
)


class TestNumbers:
    def test_clusters_are_numbered_in_the_order_of_their_names(self):
        assert number_clusters(["b", "a", "b", "c"], 4).tolist() == [1, 0, 1, 2]
        assert number_clusters([7.5, -1, 7.5], 3).tolist() == [1, 0, 1]

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
    @pytest.mark.parametrize("spread", [1, 3, 1000])
    def test_whole_numbers_are_numbered_like_any_names(self, dtype, spread):
        limits = np.iinfo(dtype)
        rng = np.random.default_rng(spread)
        for lowest in (int(limits.min), int(limits.max) - min(60 * spread, int(limits.max) // 2)):
            highest = min(lowest + 60 * spread, int(limits.max))
            names = rng.integers(lowest, highest, size=60, dtype=dtype, endpoint=True)
            expected = np.unique(names, return_inverse=True)[1]
            assert number_clusters(names, 60).tolist() == expected.tolist()

    def test_names_of_several_types_are_numbered_by_their_texts(self):
        assert number_clusters(np.array([2, "10", 2], dtype=object), 3).tolist() == [1, 0, 1]

    def test_independent_items_have_no_clusters(self):
        assert number_clusters(None, 3) is None
        assert select_clusters(None, [0, 1]) is None
        assert count_units(None, 3) == 3

    @pytest.mark.parametrize("names", [["a", float("nan"), "b"], [1.0, 2.0, float("nan")]])
    def test_items_without_a_cluster_are_not_one_cluster(self, names):
        with pytest.raises(ValueError, match="is NaN"):
            number_clusters(names, 3)

    @pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], [["a", "b"], ["c", "d"]]])
    def test_each_item_has_one_name(self, names):
        with pytest.raises(ValueError, match="cluster of each"):
            number_clusters(names, 2)

    def test_names_of_selected_items(self):
        assert select_clusters(["b", "a", "b", "c"], [0, 3]).tolist() == ["b", "c"]
        assert count_units(["b", "a", "b", "c"], 4) == 3
        assert count_numbered_units(np.array([1, 0, 1, 2]), 4) == 3
        assert count_numbered_units(None, 4) == 4


class TestSums:
    values = np.array([1.0, 2.0, 4.0, 8.0])
    names = ("b", "a", "b", "b")

    def test_values_of_a_cluster_add_up(self):
        units = sum_units(self.values, number_clusters(self.names, 4))

        # a: 2; b: 1 + 4 + 8.
        assert units.sums.tolist() == [2, 13]
        assert units.sizes.tolist() == [1, 3]
        assert len(units) == 2

    def test_without_clusters_each_value_is_a_unit(self):
        units = sum_units(self.values, None)

        assert units.sums.tolist() == self.values.tolist()
        assert units.sizes.tolist() == [1, 1, 1, 1]

    def test_means_of_units(self):
        assert average_units(self.values, self.names).tolist() == [2, 13 / 3]
        assert average_units(self.values, None).tolist() == self.values.tolist()

    def test_rows_of_a_code_add_up_column_by_column(self):
        table = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])

        assert sum_rows(np.array([1, 0, 1]), table).tolist() == [[2, 20], [5, 50]]
        assert sum_rows(np.array([1, 0, 1]), table, 3).tolist() == [[2, 20], [5, 50], [0, 0]]

    def test_members_keep_their_order(self):
        members = list_members(np.array([2, 0, 2, 0, 2]))

        assert [rows.tolist() for rows in members] == [[1, 3], [0, 2, 4]]


class TestNumbersByItem:
    def test_clusters_are_numbered_by_their_first_items(self):
        names = ["b", None, "a", "b", "", "c", "a"]

        # The second and the fifth item have no cluster, and are separate ones.
        assert number_clusters_by_item(names).tolist() == [0, 1, 2, 0, 3, 4, 2]

    def test_names_do_not_matter(self):
        names = np.random.default_rng(0).integers(9, size=50)
        renamed = [f"page {7 * name % 11}" for name in names]

        assert number_clusters_by_item(renamed).tolist() == number_clusters_by_item(names).tolist()


class TestPools:
    @pytest.fixture(autouse=True)
    def three_are_many(self, monkeypatch):
        monkeypatch.setattr(clusters_module, "MAX_UNITS", 3)

    def test_few_units_stay_as_they_are(self):
        units = np.arange(6.0).reshape(3, 2)

        assert pool_units(units, 0) is units

    def test_many_units_are_added_up_in_random_groups(self):
        units = np.array([[1.0], [2.0], [4.0], [8.0]])

        pooled = pool_units(units, 5)

        expected = [0.0, 0.0, 0.0]
        groups = np.random.default_rng(5).integers(3, size=4)
        for group, value in zip(groups, units[:, 0], strict=True):
            expected[group] += value
        assert pooled[:, 0].tolist() == expected
