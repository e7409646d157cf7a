import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.coins import SimulationCoins
from coterie.engines import play
from coterie.errors import AggregateError, FileError, ReportError
from coterie.plan import Plan
from coterie.protocols.paper.answers import unpack_bits
from coterie.protocols.paper.lsh_tree.encode import LshTreeEncoder
from coterie.protocols.paper.lsh_tree.report import LshTreeStream
from coterie.protocols.paper.lsh_tree.table import LENGTH, LshTreeTable, scaled_directions
from coterie.wire.stream import signs_of

OPTIONS = [
    {},
    {"split": "budget"},
    {"split": "deepest", "count": "joint"},
    {"randomizer": "privunit"},
    {"randomizer": "privunit", "split": "budget", "count": "joint"},
]


def plan_of(**options):
    return Plan.design(5, 3, 2.0, 1000, protocol="lsh-tree", **options)


def reports_of(plan, people=300, seed=0):
    generator = np.random.default_rng(seed)
    ids = generator.integers(0, 256, (people, 12), dtype=np.uint8)
    points = generator.uniform(-0.4, 0.4, (people, 5))
    return LshTreeEncoder(plan).encode(points, ids, SimulationCoins(seed))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_table_is_what_the_text_says(options):
    plan = plan_of(**options)
    parameters, stream = plan.parameters, LshTreeStream(plan)
    reports = reports_of(plan, 40)
    table = LshTreeTable.zero(plan)
    table.add(reports)
    expected = LshTreeTable.zero(plan)
    for report in reports:
        ids, bits = report[None, :12], unpack_bits(report[None], parameters.bits)[0]
        for answer in range(parameters.answers):
            choices = stream.choices(ids, answer)
            row = parameters.first_row(int(choices.levels[0])) + int(choices.masks[0])
            expected.reports[row] += 1
            if not parameters.joint:
                expected.counts[row] += bits[answer] * choices.count_signs[0]
            if parameters.randomizer == "djw":
                vector = (
                    scaled_directions(stream.directions(ids, answer))[0] * bits[-parameters.answers + answer]
                )
            else:
                index = np.array([int(report[answer - parameters.answers])])
                vector = signs_of(stream.chosen(ids, answer, index))[0]
            expected.sums[row] += (vector * choices.vector_signs[0]).astype(np.int64)
    for name, array in table.arrays().items():
        np.testing.assert_array_equal(array, expected.arrays()[name])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_order_and_splits_do_not_matter_and_files_round_trip(options, tmp_path):
    plan = plan_of(**options)
    reports = reports_of(plan)
    whole = Aggregate(plan)
    whole.add(reports)
    first, second = Aggregate(plan), Aggregate(plan)
    first.add(reports[::-2])
    second.add(reports[-2::-2])
    second.merge(first)
    assert second.to_bytes() == whole.to_bytes()
    assert whole.count == len(reports)
    whole.save(tmp_path / "table")
    assert Aggregate.load(tmp_path / "table", plan).to_bytes() == whole.to_bytes()


def test_malformed_reports_change_nothing():
    plan = plan_of()
    table, reports = Aggregate(plan), reports_of(plan)
    reports[7, 12] |= 1
    with pytest.raises(ReportError, match="report 7 of 300: a bit is set after the last answer"):
        table.add(reports)
    with pytest.raises(ReportError, match=r"uint8 of shape \(n, 13\)"):
        table.add(reports[:, :12])
    assert table.count == 0


@pytest.mark.parametrize(
    ("name", "change"),
    [("sums", LENGTH + 1), ("sums", -(1 << 63)), ("counts", 2), ("reports", -1), ("reports", 1 << 50)],
)
def test_impossible_tables_are_refused(name, change):
    plan = plan_of()
    arrays = {key: array.copy() for key, array in LshTreeTable.zero(plan).arrays().items()}
    arrays["reports"] += 1
    arrays[name].reshape(-1)[3] = change
    with pytest.raises(AggregateError, match=r"contradict|beyond"):
        LshTreeTable.from_arrays(plan, arrays)


def test_directions_have_the_stated_length():
    assert LENGTH == 2**15 - 1
    assert scaled_directions(np.array([[3, 4]], dtype=np.int16)).tolist() == [[19660.0, 26214.0]]


def test_levels_answered_by_everybody_have_equal_numbers():
    plan = plan_of(split="budget")
    arrays = {key: array.copy() for key, array in LshTreeTable.zero(plan).arrays().items()}
    arrays["reports"][0] = 1
    with pytest.raises(AggregateError, match="unequal numbers"):
        LshTreeTable.from_arrays(plan, arrays)


def test_foreign_arrays_and_plans_are_refused():
    plan = plan_of()
    table = LshTreeTable.zero(plan)
    with pytest.raises(AggregateError, match="different plans"):
        table.merge(LshTreeTable.zero(plan_of(levels=3)))
    with pytest.raises(AggregateError, match="has the arrays"):
        LshTreeTable.from_arrays(plan, {"sums": table.sums})
    arrays = {**table.arrays(), "counts": np.zeros(3, dtype=np.int64)}
    with pytest.raises(AggregateError, match="array counts must be int64"):
        LshTreeTable.from_arrays(plan, arrays)


def test_a_damaged_file_is_noticed():
    aggregate = play(plan_of(), np.zeros((10, 5)), SimulationCoins(0))
    data = bytearray(aggregate.to_bytes())
    data[-40] ^= 1
    with pytest.raises(FileError, match="SHA-256"):
        Aggregate.from_bytes(bytes(data))
