"""The page on which a study fills up (study.html): written here, kept up to date by a script.

What is told of an open study is what `GET …/status` tells: coarse counts and a forecast.
"""

from __future__ import annotations

from html import escape
from typing import Any, Final

from coterie.centers.groups import listed
from coterie.plan import Plan
from coterie.plan.collection import Collection, written_duration, written_time
from coterie.service.pages.assets import template
from coterie.service.pages.shell import conditions, page, promise

REASONS: Final = {
    "malformed": "not of the plan’s form",
    "closed": "after the close",
    "early": "before the study opened",
    "full": "over what the service takes",
    "token": "without a valid invitation",
}
STATES: Final = {
    "early": "Not open yet",
    "open": "Open",
    "closed": "Closed, not decoded yet",
    "deleted": "Closed, and its reports deleted",
}
_KINDS: Final = ("if people form clear groups", "if they do not, as most real data")
_MOST_NAMES: Final = 12  # of features, in the first lines


def render(
    plan: Plan, collection: Collection, status: dict[str, Any], groups: str = "", headline: str = ""
) -> str:
    """Return the page of a study.

    Parameters
    ----------
    plan : Plan
        The plan.
    collection : Collection
        How it is collected.
    status : dict
        As `GET …/status` answers.
    groups, headline : str
        What was found, as HTML, and in one line; empty where the study is not decoded.
    """
    reports, planned = status["reports"], plan.expected_users
    so_far = f"{reports:,} reports so far"
    body = template("study.html").substitute(
        top=f"<h1>{escape(headline)}</h1>" if headline else _live_title(reports),
        groups=groups,
        lead=_lead(plan, decoded=bool(headline)),
        going="How it was collected" if headline else "How it is going",
        share=f"{reports / planned:.0%}",
        planned=f"{planned:,}",
        maximum=planned,
        value=min(reports, planned),
        rejected="".join(
            f'<tr><td>{words}</td><td class="n" data-live="rejected-{reason}">'
            f"{status['rejected'][reason]:,}</td></tr>"
            for reason, words in REASONS.items()
        ),
        window=_window(collection, status),
        expected=_expected(plan, status),
        promise=promise(plan),
        conditions=conditions(plan),
        check=_CHECK if headline else "",
        plan_id=plan.id,
    )
    return page(f"{headline or so_far}: coterie", body, "study.js")


def _live_title(reports: int) -> str:
    return f'<h1><span data-live="reports">{reports:,}</span> reports so far</h1>'


def _lead(plan: Plan, *, decoded: bool) -> str:
    asked = ""
    if plan.features is not None:
        features = plan.features.features
        names = [f"<bdi>{escape(feature.name)}</bdi>" for feature in features[:_MOST_NAMES]]
        more = len(features) - len(names)
        asked = f" about {listed([*names, f'{more:,} more'] if more else names)}"
    said, left = ("answered", "left") if decoded else ("answer", "leaves")
    invited = "" if decoded or plan.model != "local" else ' <a href="participate">Take part</a>.'
    report = (
        f"one differentially private report of {plan.report_width} bytes, once."
        if plan.model == "local"
        else "one report, once, which a shuffler mixes with other people’s before anybody reads it."
    )
    return (
        f"People {said} questions{asked} on their own devices. What {left} a device is {report} Whoever runs "
        f"the study sees no one’s answers.{invited}"
    )


def state_words(status: dict[str, Any]) -> str:
    """Say in a few words where a study is.

    Examples
    --------
    >>> state_words({"decoded": False, "decoding": False, "state": "open"})
    'Open'
    """
    if status["decoded"]:
        return "Decoded"
    return "Being decoded" if status["decoding"] else STATES[status["state"]]


def _window(collection: Collection, status: dict[str, Any]) -> str:
    def moment(at: int | None, otherwise: str) -> str:
        if at is None:
            return otherwise
        text = written_time(at)
        return f'<time datetime="{text}">{text[:10]} {text[11:].removesuffix("Z")} UTC</time>'

    people = f"{collection.minimum:,} {'person' if collection.minimum == 1 else 'people'}"
    kept = (
        "until the operator deletes them"
        if collection.retention is None
        else f"deleted {written_duration(collection.retention)} after the close"
    )
    rows = (
        ("Now", f'<b data-live="state">{state_words(status)}</b>'),
        ("Opens", moment(collection.opens, "from the start")),
        ("Closes", moment(collection.closes, "when the operator closes it")),
        ("Decoded", f"once, from {people} on"),
        ("Reports are kept", kept),
        ("Times are kept", f"in steps of {written_duration(collection.time_precision)}"),
        ("Ids", "from invitations, one each" if status["ids"] == "token" else "random, drawn on the devices"),
    )
    return "".join(f"<dt>{name}</dt><dd>{words}</dd>" for name, words in rows)


def _expected(plan: Plan, status: dict[str, Any]) -> str:
    now, planned = status["expected"]["now"], status["expected"]["planned"]
    if planned is None:
        return "<p>Nobody has measured how errors of this protocol follow from its noise: no forecast.</p>"
    rows = "".join(
        f'<tr><th scope="row">{words}</th>'
        f"{_forecast(None if now is None else now[place], f'now-{place}')}{_forecast(planned[place])}</tr>"
        for place, words in enumerate(_KINDS)
    )
    return (
        "<p>How much of what clustering could gain the study recovers: 100% is k-means with everybody’s data "
        "in the open, 0% is one center for all. The range is where such studies lie. It follows from the "
        f"plan alone, for {plan.clusters} groups and ε = {plan.epsilon:g}; no answers are looked at.</p>"
        '<div class="scroll"><table class="forecast"><thead><tr><td></td>'
        f'<th scope="col">now, with <span data-live="reports">{status["reports"]:,}</span> reports</th>'
        f'<th scope="col">with {plan.expected_users:,}, as planned</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        '<p class="caption">The error is the mean squared distance to the nearest center, in squared radii '
        "of the ball that holds everybody.</p>"
    )


def _forecast(found: dict[str, Any] | None, name: str = "") -> str:
    """Return the cell of one forecast; the script writes the same into one that has a name."""
    recovered, error = forecast_words(found)
    first, second = (f' data-live="{name}"', f' data-live="{name}-error"') if name else ("", "")
    return f"<td><b{first}>{recovered}</b><small{second}>{error}</small></td>"


def forecast_words(found: dict[str, Any] | None) -> tuple[str, str]:
    """Say what a forecast recovers, and its error."""
    if found is None:
        return "too few to say", ""
    recovered, low, high = (
        max(found[name], 0.0) for name in ("recovered", "recovered_low", "recovered_high")
    )
    hopeless = ": noise hides the groups" if found["hopeless"] else ""
    error = f"error {found['objective']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
    return f"{recovered:.0%} ({low:.0%} to {high:.0%}){hopeless}", error


_CHECK: Final = """<section>
<h2>Check it</h2>
<p>Whoever has the table can compute the whole result again:
<code>coterie verify manifest.json --table table.bin --result result.json</code>.</p>
<ul>
<li><a href="result" download="result.json">result</a>: centers, shares, errors and cautions, as JSON</li>
<li><a href="table" download="table.bin">table</a>: sums of all reports; from them the result follows</li>
<li><a href="manifest" download="manifest.json">manifest</a>: figures, counts and digests, signed</li>
</ul>
</section>"""
