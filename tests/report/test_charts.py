"""Charts: what is drawn has the proportions of the numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.report.charts import HEIGHT, WIDTH, bars, histogram, round_up, spans


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=60))
def test_a_histogram_has_every_value_once_and_columns_as_high_as_their_counts(values):
    found = histogram(values, 2)
    assert sum(sum(column.counts) for column in found.columns) == len(values)
    for kind in (0, 1):
        assert sum(column.counts[kind] for column in found.columns) == sum(k == kind for _, k in values)
    top = float(found.up[-1][1].replace(",", ""))
    tallest = max(sum(column.counts) for column in found.columns)
    assert top >= tallest
    for column in found.columns:
        share = sum(
            low <= v < high or v == high == 1 for v, _ in values for low, high in [(column.low, column.high)]
        )
        assert abs(share - sum(column.counts)) <= 1, "a value at the edge of a column may be rounded over it"
        for number, (_, height) in zip(column.counts, column.parts, strict=True):
            assert height == pytest.approx(HEIGHT * number / top)
        bottom, above = column.parts
        assert bottom[0] + bottom[1] == pytest.approx(HEIGHT)
        assert above[0] + above[1] == pytest.approx(bottom[0])
    assert found.columns[-1].x + found.columns[-1].width == pytest.approx(WIDTH)


@given(st.integers(1, 10**7))
def test_an_axis_ends_at_a_round_number_that_can_be_halved(value: int):
    top = round_up(value)
    assert value <= top <= 2 * value
    assert top == 1 or top % 2 == 0


def test_bars_are_to_one_scale_also_where_there_is_nothing():
    rows = [("a", 0.0, "0", False, ()), ("b", 4.0, "4", True, ("x",)), ("c", 1.0, "1", False, ())]
    assert [(bar.width, bar.chosen, bar.more) for bar in bars(rows)] == [
        (0.0, False, ()),
        (1.0, True, ("x",)),
        (0.25, False, ()),
    ]
    for least in (0.0, -2.0):
        assert [bar.width for bar in bars([("a", 0.0, "0"), ("b", least, "")])] == [0.0, 0.0]
    assert [bar.width for bar in bars([("a", -1.0, "-1"), ("b", -2.0, "-2")])] == [0.0, 0.0]


def test_spans_are_to_one_scale():
    one, other = spans([("predicted", 3.0, 1.0), ("observed", 4.0, 2.0)])
    unit = one.right - one.middle
    assert one.middle - one.left == pytest.approx(unit)
    assert other.right - other.left == pytest.approx(4 * unit)
    assert other.middle - one.middle == pytest.approx(unit)
    assert 0 < min(one.left, other.left) < max(one.right, other.right) < WIDTH
    assert spans([("all alike", 5.0, 0.0)])[0].middle == pytest.approx(WIDTH / 2)


def test_an_axis_ends_where_its_scale_ends_and_has_few_round_ticks() -> None:
    for ends, texts in (
        ((1.0, 6.0), ["1", "2", "3", "4", "5", "6"]),
        ((1.0, 10.0), ["1", "3", "5", "7", "9"]),
        ((0.0, 100.0), ["0", "20", "40", "60", "80", "100"]),
        (None, ["0 %", "25 %", "50 %", "75 %", "100 %"]),
    ):
        drawn = histogram([(1.0, 0)], 1, ends=ends)
        assert [text for _, text in drawn.across] == texts
        high = 1.0 if ends is None else ends[1]
        assert drawn.columns[-1].high == pytest.approx(high)
        assert all(0 <= place <= WIDTH for place, _ in drawn.across)
