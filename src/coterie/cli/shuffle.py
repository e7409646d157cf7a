"""`coterie shuffle`: report files in, one mixed batch out."""

from __future__ import annotations

from pathlib import Path

from coterie.cli.screen import Caution, Force, Outcome, check_output, counted, skipped_facts
from coterie.plan import Plan


def run(
    reports: list[Path],
    *,
    plan: Path,
    out: Path,
    released: Path | None = None,
    force: Force = False,
) -> Outcome:
    """Mix reports so that nobody can tell who sent which, and release them once.

    Refuses a batch under the plan's minimum; leaves out, and counts, reports that were released before and
    reports without the plan's form. Interrupted, it leaves no output; run again with the same files, it
    writes the same bytes.

    Parameters
    ----------
    reports
        Report files of the plan.
    plan
        A plan of the shuffle model.
    out
        Where to write the shuffled file.
    released
        Folder that remembers released ids, by plan. Default: in the user's state folder.
    """
    from coterie.store.shuffle_files import default_folder, shuffle_files

    check_output(out, force, (*reports, plan))
    contract = Plan.load(plan)
    done = shuffle_files(reports, contract, out, released or default_folder(), overwrite=force)
    counts, promise = done.counts, done.guarantee
    same = "this very batch was released before; the file is the same, byte for byte"
    return Outcome(
        {
            "out": str(out),
            "plan_id": contract.id,
            **{name: getattr(done, name) for name in ("batch", "people", "messages")},
            **{name: getattr(counts, name) for name in ("duplicates", "conflicting")},
            **{name: getattr(promise, name) for name in ("epsilon", "delta", "local_epsilon")},
            "fresh": done.fresh,
            "skipped": skipped_facts(done.skipped),
        },
        [
            f"mixed {counted(done.messages, 'message')} of {counted(done.people, 'person', 'people')}; "
            f"{counted(counts.duplicates + counts.conflicting, 'repeat')} left out",
            *map(Caution, done.skipped),
            *([] if done.fresh else [same]),
            f"for this many people the promise is epsilon {promise.epsilon:.6g} at delta "
            f"{promise.delta:g} (planned: {contract.epsilon:g})",
            f"wrote {out}",
        ],
    )
