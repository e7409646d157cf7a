"""Pages from templates: one base, one sheet, and whatever is put into them is escaped.

    page = render("result.html", result=…)            whole: opens from disk, runs nothing, calls nobody
    page = render("study.html", served=assets(), …)   loads its sheet and its script from where it is served

A template that names what it was not given is an error, here and not on a page.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from coterie import __version__
from coterie.errors import bringing
from coterie.plain.words import number_word
from coterie.plan.collection import written_duration, written_time
from coterie.show.words import percent

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, *, served: Any = None, **values: Any) -> str:
    """Return a page as text.

    Parameters
    ----------
    template : str
        Its name, in coterie/show/templates.
    served : Assets, optional
        Where the page finds its sheet, its icon and its scripts; None puts the sheet into the page.
    values
        What the template shows.
    """
    return _environment().get_template(template).render(served=served, **values)


def integrity(data: bytes) -> str:
    """Return the hash by which a browser knows a file (Subresource Integrity, Content Security Policy)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(data).digest()).decode()


@cache
def sheet() -> str:
    """Return the sheet of all pages."""
    return files("coterie.show").joinpath("style.css").read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    with bringing("analyst"):
        from jinja2 import Environment, PackageLoader, StrictUndefined
    made = Environment(
        loader=PackageLoader("coterie.show"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(
        version=__version__, sheet=sheet(), sheet_hash=integrity(sheet().encode()), percent=percent
    )
    made.filters.update(
        percent=percent,
        word=number_word,
        number="{:,}".format,
        short="{:g}".format,
        px="{:.1f}".format,
        time=written_time,
        duration=written_duration,
    )
    return made
