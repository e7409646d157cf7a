"""A few facts as HTML, for notebooks: a table that prints, follows the notebook's colors and runs nothing.

Whatever is put into it is escaped: names and units come from plans, so from outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

_TABLE: Final = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.3em 0"
_CELL: Final = "text-align:left;vertical-align:top;padding:.15em 1.4em .15em 0"


def facts_html(title: str, facts: Iterable[tuple[str, str]], words: Iterable[str] = ()) -> str:
    """Return a title, facts by their names, and paragraphs below.

    Examples
    --------
    >>> facts_html("Plan", [("k", "<4>")]).count("&lt;4&gt;")
    1
    """
    rows = "".join(
        f'<tr><th scope="row" style="{_CELL};font-weight:500;opacity:.75">{escape(name)}</th>'
        f'<td style="{_CELL}">{escape(fact)}</td></tr>'
        for name, fact in facts
    )
    below = "".join(f'<p style="margin:.3em 0;max-width:46em">{escape(each)}</p>' for each in words)
    return (
        f'<div style="break-inside:avoid"><strong>{escape(title)}</strong>'
        f'<table style="{_TABLE}"><tbody>{rows}</tbody></table>{below}</div>'
    )
