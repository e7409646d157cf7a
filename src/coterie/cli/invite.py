"""`coterie invite`: links, and QR codes of them, for the people of a study; each is good for one report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie.cli.operator import TokenFile, operator_token_of
from coterie.cli.screen import Force, Outcome, check_output
from coterie.errors import SettingError, bringing
from coterie.plain.files import replacing, write_whole
from coterie.remote.collector import RemoteCollector

PIECE = 50_000  # tokens in one request
MOST_CODES = 10_000  # files in one folder


def run(
    plan_id: str,
    *,
    count: Annotated[int, typer.Option(min=1)],
    url: str,
    out: Path,
    public_url: str | None = None,
    qr: Path | None = None,
    waves: bool = False,
    bare: bool = False,
    token_file: TokenFile = None,
    force: Force = False,
) -> Outcome:
    """Invite people: a link is one report, and nobody can choose its id.

    The token in a link stands behind #, which browsers send to no server. The collector keeps marks of the
    tokens, not the tokens. Hand each link to one person: whoever knows who got which can tell whose report
    it is.

    Parameters
    ----------
    plan_id
        The plan's id, 64 hex digits.
    count
        How many people to invite.
    url
        The collector's address.
    out
        Where to write the invitations, one link per line.
    public_url
        The collector's address as people reach it, if that is another.
    qr
        Also write a QR code (SVG) of each link into this new folder.
    waves
        Links follow the study of this first plan to the wave that is open.
    bare
        Write tokens alone, 32 hex digits, for an app of your own.
    """
    check_output(out, force)
    if qr is not None:
        with bringing("qr"):
            import segno
        if bare or count > MOST_CODES:
            raise SettingError(f"--qr draws links, not --bare tokens, and at most {MOST_CODES:,} at a time")
        qr.mkdir(mode=0o700)
    with RemoteCollector(url, token=operator_token_of(token_file)) as collector:
        tokens: list[bytes] = []
        while len(tokens) < count:
            tokens += collector.invite(plan_id, min(PIECE, count - len(tokens)))
    page = RemoteCollector(public_url or url).url
    of = "studies" if waves else "plans"
    lines = [token.hex() if bare else invitation_link(page, plan_id, token, of) for token in tokens]
    write_whole(out, "".join(f"{line}\n" for line in lines), 0o600, overwrite=force)
    if qr is not None:
        for number, link in enumerate(lines, 1):  # by number: a file's name ends up in lists
            with replacing(qr / f"invitation-{number:05d}.svg", 0o600, overwrite=False) as file:
                segno.make(link, error="m", micro=False).save(file, kind="svg", scale=4, light="white")
    facts = {"out": str(out), "plan_id": plan_id, "tokens": count, **({} if qr is None else {"qr": str(qr)})}
    codes = "" if qr is None else f" and {count:,} codes in {qr}"
    return Outcome(facts, [f"issued {count:,} invitations\nwrote {out}{codes}"])


def invitation_link(url: str, plan_id: str, token: bytes, of: str = "plans") -> str:
    """Return where somebody takes part with a token; it stands behind #, so no server ever sees it.

    Examples
    --------
    >>> invitation_link("https://collector.example", "0" * 64, bytes(16))[-44:]
    'participate#00000000000000000000000000000000'
    """
    return f"{url}/{of}/{plan_id}/participate#{token.hex()}"
