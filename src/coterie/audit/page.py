"""An audit as one HTML file that opens from disk and calls nobody."""

from __future__ import annotations

from html import escape
from string import Template
from typing import Final

from coterie.audit.result import Audit, Check

_PARTS: Final = {
    "exact": "Exact: the law of the bytes, in integers",
    "empirical": "Empirical: what the bytes tell, with a false alarm below one in a million",
    "canary": "Canaries: broken clients that must be caught",
    "environment": "Environment",
}

_PAGE: Final = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Audit $verdict</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 span { color: $color }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #ddd }
.no { color: #b00020; font-weight: bold } .yes { color: #1b6e3c }
code { overflow-wrap: anywhere }
</style>
<h1>Audit: <span>$verdict</span></h1>
<p>Claim: $claim.<br>Client: <code>$client</code><br>Plan: <code>$plan_id</code><br>$seconds seconds.</p>
$parts
<h2>Where it ran</h2>
<table>$environment</table>
<h2>What an audit cannot show</h2>
<ul>$limits</ul>
</html>
""")


def render(found: Audit) -> str:
    """Return the page as text."""
    parts = [
        (title, [check for check in found.checks if check.part == part]) for part, title in _PARTS.items()
    ]
    return _PAGE.substitute(
        verdict="passed" if found.passed else "FAILED",
        color="#1b6e3c" if found.passed else "#b00020",
        claim=escape(found.claim),
        client=escape(found.client),
        plan_id=found.plan_id,
        seconds=f"{found.seconds:.0f}",
        parts="".join(_table(title, checks) for title, checks in parts if checks),
        environment="".join(
            f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>"
            for name, value in found.environment.items()
        ),
        limits="".join(f"<li>{escape(limit)}</li>" for limit in found.limits),
    )


def _table(title: str, checks: list[Check]) -> str:
    rows = "".join(
        f'<tr><td class="{"yes" if c.passed else "no"}">{"passed" if c.passed else "FAILED"}</td>'
        f"<td>{escape(c.name)}</td><td>{escape(c.found)}</td></tr>"
        for c in checks
    )
    return f"<h2>{escape(title)}</h2><table>{rows}</table>"
