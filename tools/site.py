"""Build the site: `python -m tools.site`. It opens from a folder and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = ROOT / "site"
REMOTE = "https://unpkg.com/iframe-worker/shim"  # what the generator loads for search without a server
OWN = "iframe-worker.js"  # a copy, in docs/

_LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]* src=\"?(https?:)?//|<link[^>]* href=\"?https?://[^>]*rel=\"?(?:style|preload)"
)


def main() -> None:
    """Build, bring the shim home, and look at every page."""
    command = [Path(sys.executable).with_name("zensical"), "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    pages = sorted(SITE.rglob("*.html"))
    for page in pages:
        own = "../" * (len(page.relative_to(SITE).parts) - 1) + OWN
        page.write_text(page.read_text(encoding="utf-8").replace(REMOTE, own), encoding="utf-8")
    calling = [str(page) for page in pages if _LOADED.search(page.read_text(encoding="utf-8"))]
    if calling:
        sys.exit(f"pages that load from elsewhere: {', '.join(calling)}")
    size = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file())
    print(f"site/index.html: {len(pages)} pages, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
