"""The demo's page: one HTML file with everything in it, that opens from disk and calls nobody."""

from __future__ import annotations

import math
from html import escape
from importlib.resources import files
from string import Template

from coterie import __version__
from coterie.centers.groups import letter
from coterie.cli.simulation import Study
from coterie.cli.words import WORDING, headline, shortcomings
from coterie.protocols.codeword.parameters import CodewordParameters
from coterie.show.cards import Truth, cards
from coterie.show.choices import CAPTION, draw_choices
from coterie.show.people import HABITS, SCHEMA
from coterie.show.picture import Disk, Open, View, draw
from coterie.show.told import style
from coterie.show.words import percent
from coterie.wire.layout import ID_BYTES

_WORK = ("encode", "aggregate", "decode")  # the stages that a real study has, too


def render(study: Study) -> str:
    """Return the page as text."""
    plan = study.plan
    view = View.of(study.true_centers)
    template = Template(files("coterie.cli").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        style=style(),
        version=__version__,
        users=f"{study.result.count:,}",
        clusters=plan.clusters,
        width=plan.report_width,
        epsilon=f"{plan.epsilon:g}",
        plan_id=plan.id,
        headline=escape(headline(study)),
        lead=_lead(study),
        shortcomings=_shortcomings(study),
        groups=_groups(study),
        picture=draw(view, _disks(study), Open(study.some_points, study.some_habits, study.true_centers)),
        caption=_caption(study, view),
        names="".join(_name(study, habit) for habit in range(len(HABITS))),
        shown=f"{len(study.some_points):,}",
        recovered=percent(study.recovered),
        found=len(study.found()),
        total_seconds=f"{sum(study.seconds[stage] for stage in _WORK):.0f}",
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


def _lead(study: Study) -> str:
    return (
        "Six things about how a person uses an app stay on the device: hour, weekday, minutes, visits, "
        "device, notifications. What leaves it is <b>one</b> differentially private report, once. Nobody has "
        "to be trusted and there is no second round. What this page tells of groups was computed from the "
        "reports alone. The people are simulated, so the truth can be drawn beside it."
    )


def _shortcomings(study: Study) -> str:
    words = "".join(f"<p>{escape(each)}</p>" for each in shortcomings(study))
    return f'<div class="note">{words}</div>' if words else ""


def _groups(study: Study) -> str:
    told, found = study.told(), study.found()
    truths = {group.number: _truth(study, found.get(group.number)) for group in told.told}
    shown = f'<div class="groups">{cards(told.told, told.everybody, WORDING, truths)}</div>'
    if not told.told:
        return (
            "<h2>One group: everybody</h2><p>No group stands clear of the privacy noise closely enough to be "
            "told, so what the reports tell is everybody’s. The remedies are more people or a larger ε: "
            f"<code>coterie power</code> says how many, before a study begins.</p>{shown}"
        )
    rate = told.coverage
    often = "" if rate is None else f" Ranges hold what was asked for in about {10 * rate:.0f} studies of 10."
    return (
        f"<h2>The groups, from the reports alone</h2>{_number(study)}"
        '<p class="key"><span><i class="mine"></i>the group</span><span><i class="range"></i>its range</span>'
        '<span><i class="all"></i>everybody</span>'
        f'<span><i class="truth"></i>truth of the simulation</span></p>{shown}'
        '<p class="caption">A curve is the bell that has the usual time and the agreement that were found.'
        f"{often}</p>"
    )


def _number(study: Study) -> str:
    """Return what the groups explain, and what other numbers of groups would."""
    told = study.told()
    if not told.explaining:
        return ""
    picture = draw_choices(told.choices, len(told.centers))
    drawn = f'<figure>{picture}<figcaption class="caption">{CAPTION}</figcaption></figure>' if picture else ""
    true = percent(1 - study.private / study.one_center)
    words = "".join(f"<p>{escape(each)}</p>" for each in (told.otherwise,) if each)
    return (
        f'<div class="number">{drawn}<div><p class="big">{percent(told.explained.value)}</p>'
        f"<p>{escape(told.explaining)} In the simulation it is {true}.</p>{words}</div></div>"
    )


def _truth(study: Study, true: int | None) -> Truth:
    if true is None:
        return Truth(None, "None of the groups that were simulated.", "gx")
    words = f"The simulation calls them {HABITS[true].name}: {study.true_shares[true]:.0%} of people."
    return Truth(SCHEMA.describe_point(study.true_centers[true]), words, f"g{true}")


def _disks(study: Study) -> list[Disk]:
    told, found = study.told(), study.found()
    return [
        Disk(
            group.name,
            told.centers[group.number],
            float(told.errors[group.number]),
            group.share,
            f"g{found.get(group.number, 'x')}",
        )
        for group in told.told
    ]


def _name(study: Study, habit: int) -> str:
    is_told = [letter(number) for number, true in study.found().items() if true == habit]
    told = f"found as {is_told[0]}" if is_told else "not found"
    dots = f'<path class="people g{habit}" d="M5 8h0M12 5h0M16 12h0M8 15h0M13 17h0"/>'
    return f'<span><svg viewBox="0 0 22 22">{dots}</svg>{escape(HABITS[habit].name)}, {told}</span>'


def _caption(study: Study, view: View) -> str:
    plane = (
        f"chosen so that the {len(HABITS)} true centers lie on a ring"
        if view.polygon
        else "of the two directions in which the true centers differ most"
    )
    return (
        f"{len(study.some_points):,} of the people in a flat view of {study.plan.dimension} dimensions, "
        f"{plane}. Those who lie together here may lie apart in the others. A dashed ring is the radius "
        "stated for the mean of a group, in all dimensions; a plane hides part of it."
    )


def _objectives(study: Study) -> str:
    rows = (
        ("one center for everybody", study.one_center, ""),
        (f"coterie, ε = {study.plan.epsilon:g}", study.private, "ours"),
        ("k-means, all data in the open", study.non_private, ""),
    )
    longest = max(objective for _, objective, _ in rows) or 1.0
    return "".join(
        f'<div class="cost {kind}"><span>{escape(name)}</span><span>{objective:.3f}</span>'
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
        f"{study.result.count:,} lines like these, and nothing else: no hour, no device, no group. The first "
        f"{ID_BYTES} bytes of a line are random. The rest is the private answer."
    )
    if isinstance(parameters, CodewordParameters):
        words += (
            f" It names one of {parameters.codewords} codewords that the random bytes spell out in public. "
            f"The person's features decide which {parameters.cap} of them are likelier than the others, by a "
            f"factor of e<sup>{study.plan.epsilon:g}</sup> ≈ {math.exp(study.plan.epsilon):.3g} at most; "
            "then chance picks. Any answer may come from any person."
        )
    return words


def _promise(study: Study) -> str:
    paragraphs = str(study.plan.guarantee).partition("\nIt holds when:")[0].splitlines()
    return "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)


def _setting(study: Study) -> str:
    plan = study.plan
    rows = "".join(
        f"<li>{escape(feature.name)}: {escape(feature.description)} (weight {feature.weight:g})</li>"
        for feature in SCHEMA.features
    )
    return (
        "<p>The plan declares six features and how much each counts; ball and coordinates follow from that, "
        f"{plan.dimension} of them:</p><ul>{rows}</ul>"
        "<p>The people are drawn by a generator that can be read, <code>coterie/show/people.py</code>: five "
        "groups of 16% to 24%. Their sizes, their distances and the number of people were chosen so that the "
        "groups can be found; fewer people, a smaller ε or groups that overlap give less.</p>"
        "<p>Schema, encoder, report bytes, table and decoder are those of a real study. "
        + (
            "The coins were drawn from a seed, so that the run can be repeated: a simulation, not a release."
            if study.seeded_coins
            else "The coins came from the operating system."
        )
        + f" The command: <code>{_command(study)}</code></p>"
        "<p>A group is told if it stands clear of the noise and its mean is known within half the ball's "
        "radius. It is counted as found if its center then lies nearer to a true one than half way to the "
        "next.</p>"
    )


def _command(study: Study) -> str:
    seed = f" --seed {study.seed}" if study.seeded_coins else ""
    return f"coterie demo --users {study.plan.expected_users} --epsilon {study.plan.epsilon:g}{seed}"
