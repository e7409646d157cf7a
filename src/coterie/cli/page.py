"""The demo's page: one HTML file with everything in it, that opens from disk and calls nobody."""

from __future__ import annotations

import math
from html import escape
from importlib.resources import files
from string import Template

from coterie import __version__
from coterie.cli.picture import View, draw
from coterie.cli.simulation import Study
from coterie.plan.codeword import CodewordParameters
from coterie.wire.layout import ID_BYTES

_WORK = ("encode", "aggregate", "decode")  # the stages that a real study has, too


def render(study: Study) -> str:
    """Return the page as text."""
    plan = study.plan
    view = View.of(study.true_centers)
    template = Template(files("coterie.cli").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        version=__version__,
        users=f"{study.result.count:,}",
        clusters=plan.clusters,
        width=plan.report_width,
        epsilon=f"{plan.epsilon:g}",
        plan_id=plan.id,
        headline=(
            f"{plan.clusters} groups among {study.result.count:,} people, "
            f"from {plan.report_width} private bytes each"
        ),
        lead=_lead(study),
        picture=draw(study, view),
        caption=_caption(study, view),
        shown=f"{len(study.some_points):,}",
        recovered=percent(study.recovered),
        recovered_words=(
            "of what clustering gains was recovered: 100% is k-means with everybody's data in the open, "
            "0% is one center for all."
        ),
        found=study.groups_found(),
        total_seconds=f"{sum(study.seconds[stage] for stage in _WORK):.1f}",
        objectives=_objectives(study),
        reports=_reports(study),
        reports_words=_reports_words(study),
        promise=_promise(study),
        conditions="".join(f"<li>{escape(condition)}</li>" for condition in plan.guarantee.conditions),
        setting=_setting(study),
        seconds="".join(
            f'<tr><td>{escape(stage)}</td><td class="n">{seconds:.2f}</td></tr>'
            for stage, seconds in study.seconds.items()
        ),
    )


def percent(share: float) -> str:
    """Write a share in whole percent; a dash for NaN.

    Examples
    --------
    >>> percent(0.876), percent(math.nan)
    ('88%', '–')
    """
    return "–" if math.isnan(share) else f"{share:.0%}"


def _lead(study: Study) -> str:
    plan = study.plan
    return (
        f"Each person holds one point of {plan.dimension:,} coordinates and sends <b>one</b> differentially "
        "private report, once. Nobody has to be trusted and there is no second round. From the reports alone "
        "the server found the centers below. The people are simulated, so the truth can be drawn beside them."
    )


def _caption(study: Study, view: View) -> str:
    dimension, clusters = study.plan.dimension, study.plan.clusters
    if dimension <= 2:
        return "The points as they are. A disk shows a center's expected distance from the truth."
    if view.polygon:
        return (
            f"A flat view of {dimension:,} dimensions, in a plane chosen so that the {clusters} true centers "
            "lie on a ring. A disk shows a center's expected distance from the truth in all dimensions; a "
            "plane hides part of it."
        )
    return (
        f"A flat view of {dimension:,} dimensions: the two directions in which the true centers differ most. "
        "Groups that overlap here may lie apart in the others. A disk shows a center's expected distance "
        "from the truth in all dimensions."
    )


def _objectives(study: Study) -> str:
    rows = (
        ("one center for everybody", study.one_center, ""),
        (f"coterie, ε = {study.plan.epsilon:g}", study.private, "ours"),
        ("k-means, all data in the open", study.non_private, ""),
    )
    longest = max(objective for _, objective, _ in rows) or 1.0
    return "".join(
        f'<div class="cost {kind}"><span>{escape(name)}</span><span>{objective:.4f}</span>'
        f'<i style="width:{100 * objective / longest:.1f}%"></i></div>'
        for name, objective, kind in rows
    )


def _reports(study: Study) -> str:
    lines = (bytes(report).hex(" ") for report in study.some_reports)
    end = 3 * ID_BYTES - 1  # two digits a byte and a space between
    shown = [f'<span class="id">{line[:end]}</span> <b>{line[end + 1 :]}</b>' for line in lines]
    return "\n".join([*shown, f'<span class="id">… and {study.result.count - len(shown):,} more</span>'])


def _reports_words(study: Study) -> str:
    parameters = study.plan.parameters
    words = (
        f"{study.result.count:,} lines like these, and nothing else: no point, no group. The first "
        f"{ID_BYTES} bytes of a line are random. The rest is the private answer."
    )
    if isinstance(parameters, CodewordParameters):
        words += (
            f" It names one of {parameters.codewords} codewords that the random bytes spell out in public. "
            f"The person's point decides which {parameters.cap} of them are likelier than the others, by a "
            f"factor of e<sup>{study.plan.epsilon:g}</sup> ≈ {math.exp(study.plan.epsilon):.3g} at most; "
            "then chance picks. Any answer may come from any person."
        )
    return words


def _promise(study: Study) -> str:
    paragraphs = str(study.plan.guarantee).partition("\nIt holds when:")[0].splitlines()
    return "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)


def _setting(study: Study) -> str:
    plan = study.plan
    paragraphs = [
        f"The data are the mixture of the paper that the method builds on: {plan.clusters} centers drawn on "
        f"a sphere in {plan.dimension:,} dimensions, the same number of people around each, in a cloud of "
        f"expected radius 1/{study.separation:g} of the unit ball. That separation, the number of people and "
        "of groups were chosen so that the groups can be found; fewer people, a smaller ε, more groups or "
        "groups that overlap give less.",
        "Encoder, report bytes, table and decoder are those of a real study. "
        + (
            "The coins were drawn from a seed, so that the run can be repeated: a simulation, not a release."
            if study.seeded_coins
            else "The coins came from the operating system."
        )
        + f" The command: <code>{_command(study)}</code>",
        f"Centers that the decoder calls supported by the data: {study.result.supported} of {plan.clusters}.",
    ]
    cautions = [f'<p class="note">{escape(note)}</p>' for note in study.result.notes]
    return "".join([*(f"<p>{paragraph}</p>" for paragraph in paragraphs), *cautions])


def _command(study: Study) -> str:
    plan = study.plan
    seed = f" --seed {study.seed}" if study.seeded_coins else ""
    return (
        f"coterie demo --users {plan.expected_users} --clusters {plan.clusters} --dimension {plan.dimension} "
        f"--epsilon {plan.epsilon:g} --separation {study.separation:g}{seed}"
    )
