"""`coterie shuffle`: report files in, one mixed batch out."""

from __future__ import annotations

from pathlib import Path

from coterie.cli.screen import Force, Json, caution, check_output, counted, print_json, say, skipped_facts
from coterie.plan import Plan


def run(
    reports: list[Path],
    *,
    plan: Path,
    out: Path,
    released: Path | None = None,
    force: Force = False,
    json: Json = False,
) -> None:
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
    if json:
        print_json(
            {
                "out": str(out),
                "plan_id": contract.id,
                "batch": done.batch,
                "people": done.people,
                "messages": done.messages,
                "duplicates": done.counts.duplicates,
                "conflicting": done.counts.conflicting,
                "epsilon": done.guarantee.epsilon,
                "delta": done.guarantee.delta,
                "local_epsilon": done.guarantee.local_epsilon,
                "fresh": done.fresh,
                "skipped": skipped_facts(done.skipped),
            }
        )
        return
    say(
        f"mixed {counted(done.messages, 'message')} of {counted(done.people, 'person', 'people')}; "
        f"{counted(done.counts.duplicates + done.counts.conflicting, 'repeat')} left out"
    )
    for each in done.skipped:
        caution(str(each))
    if not done.fresh:
        say("this very batch was released before; the file is the same, byte for byte")
    say(
        f"for this many people the promise is epsilon {done.guarantee.epsilon:.6g} at delta "
        f"{done.guarantee.delta:g} (planned: {contract.epsilon:g})"
    )
    say(f"wrote {out}")
