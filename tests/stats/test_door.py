from __future__ import annotations

import subprocess
import sys

import pytest

from contextecho import stats


def test_every_name_on_the_door_exists_and_the_list_is_sorted() -> None:
    assert all(getattr(stats, name) is not None for name in stats.__all__)
    assert stats.__all__ == sorted(stats.__all__)


def test_the_door_offers_nothing_that_it_does_not_name() -> None:
    offered = {name for names in stats._HOMES.values() for name in names} | {"Interval"}
    assert offered == set(stats.__all__)
    with pytest.raises(AttributeError, match="no attribute 'unit_means'"):
        _ = stats.unit_means


def test_interval_alone_loads_neither_numpy_nor_scipy() -> None:
    code = (
        "import sys; from contextecho.stats import Interval; "
        "print([m for m in ('numpy', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
