"""`coterie waves`: a study of several plans on a collector: where it is, its next wave, labels, files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Unpack

import typer
from rich.table import Table

from coterie.cli.operator import TokenFile, operator_token_of
from coterie.cli.plan import Collected, collection_of
from coterie.cli.screen import Force, Outcome, check_output, progress, say
from coterie.errors import SettingError
from coterie.plain.files import write_whole
from coterie.plan import Plan
from coterie.remote.collector import RemoteCollector
from coterie.service.following import checked_asked


def run(
    action: Literal["show", "next", "label", "save"],
    study_id: str,
    *,
    url: str,
    users: int | None = None,
    confirm: bool = False,
    epsilon: float | None = None,
    clusters: int | None = None,
    plan: Path | None = None,
    label: str | None = None,
    out_: Annotated[Path | None, typer.Option("--out")] = None,
    token_file: TokenFile = None,
    force: Force = False,
    **collected: Unpack[Collected],
) -> Outcome:
    """Run a study of several plans, of which everyone answers one.

    `next` closes the wave that is open, has all waves decoded together, and opens a plan made from the
    result, for other people: to find better, or with --confirm to confirm what was found. Closing is final.

    Parameters
    ----------
    action
        show: its plans. next: end the last wave and open the next. label: open a plan under a label. save:
        write manifest, result and tables, for `coterie verify` or to compare labels.
    study_id
        The id of the study's first plan, 64 hex digits.
    url
        The collector's address.
    users
        next: how many other people will answer.
    confirm
        next: ask about the groups that were found.
    epsilon
        next: another privacy of one report.
    clusters
        next: another number of groups to find.
    opens
        next: as for `coterie plan`.
    closes
        next: likewise.
    minimum
        next: likewise.
    retention
        next: likewise.
    time_precision
        next: likewise.
    plan
        label: the plan; its study is this one.
    label
        label: a public word, a-z, 0-9, '.', '_', '-'.
    out_
        next: where to write the plan. save: a new folder.
    """
    token = operator_token_of(token_file) if action in ("next", "label") else None
    with RemoteCollector(url, token=token) as collector:
        if action == "next":
            if users is None:
                raise SettingError("give --users: how many other people will answer the next wave")
            check_output(out_, force)
            how = collection_of(collected)
            said = {"confirm": confirm, "epsilon": epsilon, "clusters": clusters}
            asked: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
            checked_asked({"expected_users": users, **asked})  # before anything is closed for good
            last = collector.study(study_id)["plans"][-1]
            with progress("decoding", None):
                if not last["decoded"]:
                    collector.close(last["plan_id"])
                    collector.decode(last["plan_id"])
                made = collector.next_wave(study_id, users, collection=how, **asked)
            if out_ is not None:
                made.save(out_, overwrite=force)
            say(f"opened plan {made.id}")
        elif action == "label":
            if plan is None or label is None:
                raise SettingError("give --plan and --label")
            new = collector.put_labelled(study_id, label, Plan.load(plan))
            say(f"{'opened' if new else 'there already:'} {label}")
        elif action == "save":
            if out_ is None:
                raise SettingError("give --out: a new folder")
            _save(collector, study_id, out_)
        found = collector.study(study_id)
    if action == "next" and (why := found["plans"][-1]["why"]) is not None:
        say(why)
    table = Table("plan", "label", "asks to", "state", "people, told coarsely")
    for each in found["plans"]:
        table.add_row(
            each["plan_id"][:12] + "…",
            each["label"] or "",
            "confirm" if each["confirms"] else "find",
            "decoded" if each["decoded"] else each["state"],
            f"{each['reports']:,}",
        )
    return Outcome(found, shown=[table])


def _save(collector: RemoteCollector, study_id: str, folder: Path) -> None:
    """Write what a study left into a new folder: tables by label or number of the wave."""
    plans = [each for each in collector.study(study_id)["plans"] if each["decoded"]]
    files: dict[str, bytes] = {}
    for number, each in enumerate(plans, 1):
        files[f"{each['label'] or f'wave-{number}'}.table"] = collector.table(each["plan_id"])
        if each["label"] is not None:
            files[f"{each['label']}.manifest.json"] = collector.manifest(each["plan_id"])
            files[f"{each['label']}.result.json"] = collector.result_bytes(each["plan_id"])
    if plans and plans[-1]["label"] is None:
        files["manifest.json"] = collector.study_manifest(study_id)
        files["result.json"] = collector.study_result(study_id)
    folder.mkdir()
    for name, data in files.items():
        write_whole(folder / name, data, overwrite=False)
    say(f"wrote {', '.join(sorted(files)) or 'nothing: no plan is decoded'} in {folder}")
