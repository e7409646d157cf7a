"""What every page has: its head, the mark, the foot. Addresses are relative, so a proxy may add a prefix."""

from __future__ import annotations

from html import escape

from coterie import __version__
from coterie.plan import Plan
from coterie.service.pages.assets import assets


def page(title: str, body: str, script: str, *, modules: tuple[str, ...] = ()) -> str:
    """Return a page.

    Parameters
    ----------
    title : str
        Text.
    body : str
        HTML.
    script : str
        The file of its script.
    modules : tuple of str
        Files that the script imports.
    """
    found = assets()
    where = f"../../static/{found.name}"

    def integrity(name: str) -> str:
        return f'href="{where}/{name}" integrity="{found.files[name].integrity}"'

    early = "".join(f'<link rel="modulepreload" {integrity(name)}>\n' for name in modules)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="coterie {__version__}">
<title>{escape(title)}</title>
<link rel="icon" href="{where}/icon.svg" type="image/svg+xml">
<link rel="stylesheet" {integrity("style.css")}>
<link rel="stylesheet" {integrity("pages.css")}>
{early}<script type="module" src="{where}/{script}" integrity="{found.files[script].integrity}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<main id="content">
<p class="mark">coterie</p>
{body}
</main>
</body>
</html>
"""


def conditions(plan: Plan) -> str:
    """Return what the promise rests on, as items of a list."""
    return "".join(f"<li>{escape(condition)}</li>" for condition in plan.guarantee.conditions)


def promise(plan: Plan) -> str:
    """Return the promise as the plan states it, in paragraphs."""
    paragraphs = str(plan.guarantee).partition("\nIt holds when:")[0].splitlines()
    return "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
