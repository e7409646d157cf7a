"""The files of docs/wire-format.md on one page of plain Python: reports, tables, ledgers, shuffled batches.

For reading beside the page and for checking other implementations; independent of the package.
"""

import hashlib
from fractions import Fraction

REPORTS, SHUFFLED = b"COTERIE-REPORTS\n", b"COTERIE-SHUFFLED"


def sealed(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


def report_file(plan_id: bytes, width: int, rows: list[bytes], *, magic: bytes = REPORTS) -> bytes:
    """A report file, or with the other magic a shuffled one."""
    version, reserved = (1).to_bytes(2, "big"), bytes(4)
    header = magic + version + width.to_bytes(2, "big") + reserved + len(rows).to_bytes(8, "big") + plan_id
    return sealed(header + b"".join(rows))


def table_file(plan_json: str, arrays: list[list[int]]) -> bytes:
    """The table file of a plan's canonical JSON; each array is flat, row by row."""
    plan = plan_json.encode()
    header = b"COTERIE-TABLE\n" + (1).to_bytes(2, "big") + len(plan).to_bytes(4, "big") + plan
    words = (number.to_bytes(8, "little", signed=True) for array in arrays for number in array)
    return sealed(header + b"".join(words))


def figures(epsilon: float, delta: float, local_epsilon: float) -> bytes:
    """What a plan may spend, as exact fractions; an infinite local ε is "inf"."""
    local = "inf" if local_epsilon == float("inf") else str(Fraction(local_epsilon))
    return f"{Fraction(epsilon)} {Fraction(delta)} {local}".encode("ascii")


def ledger_file(answers: list[tuple[bytes, bytes, int, bytes, bytes]]) -> bytes:
    """A ledger of answers (plan id, study id, day, figures, what was sent)."""
    data = b"COTERIE-LEDGER\n\x02"
    for plan_id, study_id, day, spent, sent in answers:
        data += plan_id + study_id + day.to_bytes(4, "big")
        data += len(spent).to_bytes(2, "big") + len(sent).to_bytes(2, "big") + spent + sent
    return sealed(data)


def released_file(plan_id: bytes, reports: list[bytes]) -> tuple[str, bytes]:
    """Name and contents of the record of a released batch of reports, each id once."""
    batch = hashlib.sha256(b"coterie/1/batch" + plan_id + b"".join(sorted(reports))).hexdigest()
    ids = sorted(report[:12] for report in reports)
    body = b"COTERIE-RELEASED" + plan_id + len(ids).to_bytes(8, "big") + b"".join(ids)
    return f"{batch}.released", sealed(body)


def each_id_once(reports: list[bytes]) -> list[bytes]:
    """Of several reports with one id the smallest; in ascending order."""
    kept: dict[bytes, bytes] = {}
    for report in reports:
        kept[report[:12]] = min(report, kept.get(report[:12], report))
    return sorted(kept.values())
