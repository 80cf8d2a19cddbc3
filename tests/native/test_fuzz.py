"""A few of the random calls that `make sanitize` makes by the thousand under sanitizers."""

import pytest

from native.fuzz import fuzz


@pytest.mark.slow
def test_random_calls_return_and_stay_within_bounds():
    fuzz(100, seed=1)
