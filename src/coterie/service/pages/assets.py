"""Scripts, the sheet and the client's bundle, read once and served under one name: the hash of them all.

The name changes with any of them, so a browser may keep them for good and never mixes two versions.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from coterie.show.pages import integrity, sheet

BUNDLE: Final = "coterie.js"  # of clients/web, as it was built
MIXING: Final = "mixing.js"  # likewise; for plans of the shuffle model
_STATIC: Final = ("console.js", "icon.svg", "participate.js", "study.js", BUNDLE, MIXING)
_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file."""

    data: bytes
    media_type: str

    @property
    def sha256(self) -> str:
        """Its SHA-256, 64 hex digits."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Assets:
    """All files, and the name that they have together."""

    name: str
    files: dict[str, Asset]
    root: str = "../../"  # from the page that names them

    @property
    def where(self) -> str:
        """Their address as a page names it: relative, so a proxy may add a prefix."""
        return f"{self.root}static/{self.name}"

    def integrity(self, name: str) -> str:
        """Return the hash to which a browser holds a file."""
        return integrity(self.files[name].data)


@cache
def assets() -> Assets:
    """Read the files.

    Examples
    --------
    >>> sorted(assets().files)
    ['console.js', 'coterie.js', 'icon.svg', 'mixing.js', 'participate.js', 'study.js', 'style.css']
    """
    folder = files("coterie.service.pages").joinpath("static")
    data = {"style.css": sheet().encode(), **{name: folder.joinpath(name).read_bytes() for name in _STATIC}}
    found = {name: Asset(each, _TYPES[name.rpartition(".")[2]]) for name, each in data.items()}
    everything = hashlib.sha256("".join(f"{name} {file.sha256}\n" for name, file in found.items()).encode())
    return Assets(everything.hexdigest()[:16], found)
