"""Scripts, sheets and the client's bundle, read once and served under one name: the hash of them all.

The name changes with any of them, so a browser may keep them for good and never mixes two versions.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template
from typing import Final

BUNDLE: Final = "coterie.js"  # of clients/web, as it was built
_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_FOLDERS: Final = {
    "style.css": "coterie.show",
    "pages.css": "coterie.service.pages",
    "icon.svg": "coterie.service.pages",
    "participate.js": "coterie.service.pages",
    "study.js": "coterie.service.pages",
    BUNDLE: "coterie.service.pages",
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

    @property
    def integrity(self) -> str:
        """The same for a browser, which refuses another file (Subresource Integrity)."""
        return "sha256-" + base64.b64encode(hashlib.sha256(self.data).digest()).decode()


@dataclass(frozen=True, slots=True)
class Assets:
    """All files, and the name that they have together."""

    name: str
    files: dict[str, Asset]


@cache
def assets() -> Assets:
    """Read the files.

    Examples
    --------
    >>> sorted(assets().files)
    ['coterie.js', 'icon.svg', 'pages.css', 'participate.js', 'study.js', 'style.css']
    """
    found = {}
    for name, package in _FOLDERS.items():
        folder = files(package) if package == "coterie.show" else files(package).joinpath("static")
        found[name] = Asset(folder.joinpath(name).read_bytes(), _TYPES[name.rpartition(".")[2]])
    everything = hashlib.sha256("".join(f"{name} {file.sha256}\n" for name, file in found.items()).encode())
    return Assets(everything.hexdigest()[:16], found)


@cache
def template(name: str) -> Template:
    """Return a page's words, with places for what a plan says."""
    return Template(files("coterie.service.pages").joinpath(name).read_text(encoding="utf-8"))
