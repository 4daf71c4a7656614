from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wbgpu.aggregate.student_t import two_sided_t
from wbgpu.errors import ConfigurationError


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 0.95, 0.99, 0.999999])
@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 10, 31, 255, 4095])
def test_is_what_scipy_says(level, degrees):
    """An interval too narrow by a wrong quantile would call noise a change."""
    assert two_sided_t(level, degrees) == pytest.approx(stats.t.ppf((1 + level) / 2, degrees))


@pytest.mark.parametrize(("level", "degrees"), [(0.0, 5), (1.0, 5), (float("nan"), 5), (0.95, 0)])
def test_out_of_range_is_refused(level, degrees):
    with pytest.raises(ConfigurationError, match="expected"):
        two_sided_t(level, degrees)


@given(st.floats(1.0, 200.0), st.floats(0.5, 0.999))
def test_between_whole_degrees_it_is_never_short(degrees, level):
    """Degrees of freedom of clusters are approximations; what is read for them errs to the safe
    side of scipy's."""
    exact = stats.t.ppf((1 + level) / 2, degrees)
    assert exact * (1 - 1e-6) <= two_sided_t(level, degrees) <= 1.05 * exact
