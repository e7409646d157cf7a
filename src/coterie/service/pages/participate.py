"""The page on which somebody takes part: what it says (participate.html). Form and report are the script's.

The script reads the plan itself and checks that its hash is the id in the address, so the form follows from
the plan and not from this page.
"""

from __future__ import annotations

import math
from html import escape
from typing import Final

from coterie.plan import Plan
from coterie.service.pages.assets import BUNDLE, assets, template
from coterie.service.pages.shell import conditions, page, promise


def render(plan: Plan) -> str:
    """Return the page of a plan."""
    found = assets()
    local = plan.model == "local"
    body = template("participate.html").substitute(
        lead=_LOCAL_LEAD.format(width=plan.report_width) if local else _OTHER_LEAD,
        promise=_local_promise(plan) if local else promise(plan),
        once_made="The report needs no trust once it is made." if local else "",
        asked=_asked(plan),
        conditions=conditions(plan),
        bundle=BUNDLE,
        bundle_address=f"../../static/{found.name}/{BUNDLE}",
        bundle_hash=found.files[BUNDLE].sha256,
        plan_id=plan.id,
    )
    return page("Take part, privately: coterie", body, "participate.js", modules=(BUNDLE,))


_LOCAL_LEAD: Final = (
    "Your answers stay in this browser. What leaves it is <b>one report of {width} bytes</b>, made with so "
    "much chance that it could have come from anybody, whatever they answered."
)
_OTHER_LEAD: Final = "The reports of this study are private only once others’ are mixed in."


def _local_promise(plan: Plan) -> str:
    """Return the promise of the local model in plain words: it needs nobody."""
    return template("promise.html").substitute(
        factor=rounded_up(math.exp(plan.epsilon)), epsilon=f"{plan.epsilon:g}"
    )


def _asked(plan: Plan) -> str:
    """Return what is asked, for readers without scripts."""
    if plan.features is None:
        return ""
    rows = "".join(
        f"<li><bdi><b>{escape(feature.name)}</b>{': ' if feature.description else ''}"
        f"{escape(feature.description)}</bdi></li>"
        for feature in plan.features.features
    )
    return f"<noscript><section><h2>What is asked</h2><ul>{rows}</ul></section></noscript>"


def rounded_up(factor: float) -> str:
    """Write a factor with three digits, rounded up: a promise is never told smaller than it is.

    Examples
    --------
    >>> rounded_up(2.718281828), rounded_up(54.59), rounded_up(8886110.5)
    ('2.72', '54.6', '8,890,000')
    """
    scale = 10.0 ** (2 - math.floor(math.log10(factor)))
    up = math.ceil(factor * scale) / scale
    return f"{up:,.0f}" if up >= 100 else f"{up:g}"
