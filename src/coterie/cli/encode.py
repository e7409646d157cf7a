"""`coterie encode`: a file of points or records in, a file of private reports out."""

from __future__ import annotations

from pathlib import Path

from coterie.cli.people import Header, open_people
from coterie.cli.screen import Force, Outcome, caution, check_output, counted, progress
from coterie.encode import Client
from coterie.errors import PointError
from coterie.plan import Plan
from coterie.wire.report_file import writing_reports

_MIXED = {"shuffle": ", once the reports are mixed"}


def run(
    points: Path,
    *,
    plan: Path,
    out: Path,
    header: Header = None,
    force: Force = False,
) -> Outcome:
    """Encode many people's points or records at once, for simulations and bulk tests.

    Coins come from the operating system. There is no ledger here: the plan's epsilon holds for each call, and
    encoding the same person twice spends it twice. On a device use coterie.Client with a ledger.

    Parameters
    ----------
    points
        One row a person: points (.npy, .csv, .parquet) or, where the plan declares features, records with
        columns by name (.csv, .parquet).
    plan
        The plan to answer.
    out
        Where to write the reports.
    """
    check_output(out, force, (points, plan))
    contract = Plan.load(plan)
    client = Client(contract)
    source = open_people(points, contract, header)
    caution(
        "many points in one file is a simulation or a bulk test. Without a ledger epsilon "
        f"{contract.epsilon:g} holds for each call{_MIXED.get(contract.model, '')}: encoding the same people "
        "again spends it again"
    )
    with (
        progress("encoding", source.total) as advance,
        writing_reports(out, contract, overwrite=force) as writer,
    ):
        for chunk, done in source.chunks():
            try:
                writer.append(client.encode_many(chunk))
            except PointError as error:
                raise PointError(f"{points}: {error}") from None
            advance(done)
        if writer.count == 0:
            raise PointError(f"{points}: expected one row a person, found no rows")
    return Outcome(
        {
            "out": str(out),
            "plan_id": contract.id,
            "reports": writer.count,
            "report_bytes": contract.report_width,
            "clipped_not_private": client.clipped,
        },
        [
            f"wrote {counted(writer.count, 'report')} of {contract.report_width} bytes to {out}",
            f"{counted(client.clipped, 'point')} outside the ball, clipped to it "
            "(a count of the data, not private: keep it on this side)",
        ],
    )
