"""What the tests of the shuffler share: small plans, reports, and the table that files lead to."""

import numpy as np

from coterie.aggregate import Aggregate
from coterie.collect import Batches
from coterie.encode import Client
from coterie.plan import Plan
from coterie.store.shuffle_files import shuffle_files
from coterie.wire.report_file import write_reports

PEOPLE = 60
AMPLIFIED = Plan.design(2, 2, 2.0, PEOPLE, model="shuffle", delta=1e-4)  # minimum 54
SHARES = Plan.design(2, 2, 2.0, PEOPLE, protocol="vector-sums", model="shuffle", delta=1e-4, cells=4)
COLUMN = Plan.design(
    2, 2, 2.0, 400, protocol="vector-sums", model="shuffle", delta=1e-4, cells=2, layout="column"
)


def reports_of(plan, people=PEOPLE, seed=0):
    """Reports of so many people, (people, width), with ids of the system's coins."""
    points = np.random.default_rng(seed).normal(0, 0.4, (people, 2))
    data = Client(plan).encode_many(points)
    return np.frombuffer(data, dtype=np.uint8).reshape(people, plan.report_width)


def table_from_files(folder, plan, reports):
    """The table, and the shuffled file, of `coterie shuffle` and `coterie aggregate` for the same reports."""
    write_reports(folder / "reports", plan, reports, overwrite=True)
    shuffle_files([folder / "reports"], plan, folder / "shuffled", folder / "released", overwrite=True)
    table = Aggregate(plan)
    for chunk in Batches([folder / "shuffled"], plan).chunks():
        table.add(chunk)
    return table.to_bytes(), (folder / "shuffled").read_bytes()
