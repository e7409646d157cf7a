"""Vectors of files and of repeated ids, for tests/vectors/files.json; `make_vectors.py` writes them.

Small files stand there whole, in hex. A table is long and mostly zeros or ±1, so its bytes are `pieces`: hex
digits, lists of int64 (little-endian) and numbers of zero bytes. Bad ones are changes to a good one.
"""

import runpy
from pathlib import Path

HERE = Path(__file__).parent
Files = runpy.run_path(str(HERE / "files_reference.py"))
Codeword = runpy.run_path(str(HERE / "make_vectors.py"))
Reference, canonical, plan = Codeword["Reference"], Codeword["canonical"], Codeword["plan"]
cross_polytope, net, report_id = Codeword["cross_polytope"], Codeword["net"], Codeword["report_id"]
sealed = Files["sealed"]

SMALL = plan(3, [cross_polytope(4)], codewords=200)
WIDE = plan(2, [net((0, 0))], codewords=300, cap=100, embedding=2048)  # no second moment, a two-byte index
OTHER = plan(3, [cross_polytope(4)], codewords=200, seed=1)


def report(name, number, index, width=1):
    return report_id(name, number) + index.to_bytes(width, "big")


def changed(data, at, new):
    return data[:at] + new + data[at + len(new) :]


def report_files():
    reference = Reference(canonical(SMALL))
    some = [report("file", i, index) for i, index in enumerate((0, 199, 7))]
    good = {"no reports": [], "one report": some[:1], "three reports": some}
    for name, reports in good.items():
        data = Files["report_file"](reference.plan_id, 13, reports)
        yield {
            "name": name,
            "plan": canonical(SMALL),
            "reports": [r.hex() for r in reports],
            "file": data.hex(),
        }
    wide = Reference(canonical(WIDE))
    reports = [report("wide", 0, 299, 2)]
    data = Files["report_file"](wide.plan_id, 14, reports)
    yield {
        "name": "a two-byte index",
        "plan": canonical(WIDE),
        "reports": [reports[0].hex()],
        "file": data.hex(),
    }


def bad_report_files():
    """Files that must be refused, each with what is wrong in it."""
    reference, other = Reference(canonical(SMALL)), Reference(canonical(OTHER))
    reports = [report("file", i, i) for i in range(3)]
    good = Files["report_file"](reference.plan_id, 13, reports)
    body = good[:-32]
    files = {
        "empty": b"",
        "a header cut short": good[:63],
        "no digest": body,
        "a byte short": good[:-1],
        "a byte long": good + b"\0",
        "a bit of a report flipped": changed(good, 70, bytes([good[70] ^ 1])),
        "a bit of the digest flipped": changed(good, len(body), bytes([good[len(body)] ^ 1])),
        "another magic": sealed(changed(body, 0, b"COTERIE-RESULTS\n")),
        "the magic of a shuffled file": sealed(changed(body, 0, b"COTERIE-SHUFFLED")),
        "a later version": sealed(changed(body, 16, b"\0\2")),
        "a width of nothing": sealed(changed(body, 18, b"\0\0")),
        "another width": sealed(changed(body, 18, b"\0\x0e")),
        "a reserved byte": sealed(changed(body, 23, b"\1")),
        "a report more than there are": sealed(changed(body, 24, (4).to_bytes(8, "big"))),
        "a report less than there are": sealed(changed(body, 24, (2).to_bytes(8, "big"))),
        "more reports than bytes can count": sealed(changed(body, 24, b"\xff" * 8)),
        "another plan": Files["report_file"](other.plan_id, 13, reports),
        "reports that are cut short": sealed(body[:-1]),
    }
    for name, data in files.items():
        yield {"name": name, "plan": canonical(SMALL), "file": data.hex()}


def repeated_ids():
    """Report files that are read together, and what counts of them."""
    reference = Reference(canonical(SMALL))

    def entry(name, *files):
        read = [one for reports in files for one in reports]
        valid = [one for one in read if one[12] < SMALL["parameters"]["codewords"]]
        kept = Files["each_id_once"](valid)
        return {
            "name": name, "plan": canonical(SMALL),
            "files": [Files["report_file"](reference.plan_id, 13, reports).hex() for reports in files],
            "kept": [one.hex() for one in kept], "read": len(read), "invalid": len(read) - len(valid),
            "duplicates": len(valid) - len(set(valid)), "conflicting": len(set(valid)) - len(kept),
        }  # fmt: skip

    a, b, c = (report("ids", i, 10 * i + 5) for i in range(3))
    yield entry("each id once", [c, a], [b])
    yield entry("the same bytes again", [a, b, a], [a], [b, c])
    yield entry("other contents, the smaller ones count", [a[:12] + b"\x63", b], [a, a[:12] + b"\x06"])
    yield entry("other contents in the other order", [a], [b, a[:12] + b"\x63"], [a[:12] + b"\x06"])
    yield entry("an index that is too large is left out first", [a[:12] + b"\xc8", b], [a, c[:12] + b"\xff"])
    yield entry("ids that differ in one bit", [a, a[:11] + bytes([a[11] ^ 1]) + a[12:]], [a])
    yield entry("no reports", [], [])


def pieces_of(start, *arrays):
    """A file in short: hex, int64 numbers in lists, numbers of zero bytes; the digest in hex at the end."""
    pieces = [start.hex()]
    for array in arrays:
        run, zeros = [], 0
        for number in [*array, None]:
            if number == 0:
                zeros += 8
                continue
            if zeros >= 64:
                pieces += [run, zeros] if run else [zeros]
                run = []
            else:
                run += [0] * (zeros // 8)
            zeros = 0
            if number is not None:
                run.append(number)
        if run:
            pieces.append(run)
    return pieces


def table_of(content, reports):
    text = canonical(content)
    sums, counts, second = Reference(text).table(reports)
    flat = [[v for row in sums for v in row], counts]
    if content["parameters"]["embedding"] <= 1024:
        flat.append([v for row in second for v in row])
    data = Files["table_file"](text, flat)
    return data, [*pieces_of(data[: 20 + len(text.encode())], *flat), data[-32:].hex()]


def table_files():
    some = [report("table", i, index) for i, index in enumerate((0, 199, 7, 7, 50))]
    wide = [report("wide", i, index, 2) for i, index in enumerate((299, 0))]
    for name, content, reports in (
        ("no reports", SMALL, []), ("one report", SMALL, some[:1]), ("five reports", SMALL, some),
        ("no second moment", WIDE, wide),
    ):  # fmt: skip
        data, pieces = table_of(content, reports)
        yield {
            "name": name, "plan": canonical(content), "reports": [r.hex() for r in reports],
            "length": len(data), "sha256": Files["hashlib"].sha256(data).hexdigest(), "pieces": pieces,
        }  # fmt: skip


def bad_table_files():
    """Changes to the table of one report that make it invalid.

    Cut the file to `length` if it is given; from `at` on, replace as many bytes as `bytes` has (or `remove`
    of them) by `bytes`; then, if `sealed`, replace the last 32 bytes by the SHA-256 of what is before them.
    """
    text = canonical(SMALL)
    start = 20 + len(text)
    rows, size = 8, 128
    data, _ = table_of(SMALL, [report("table", 0, 0)])
    counts, second = start + 8 * rows * size, start + 8 * rows * (size + 1)
    row = next(i for i in range(rows) if data[counts + 8 * i])
    word = lambda number: number.to_bytes(8, "little", signed=True).hex()  # noqa: E731
    entry = int.from_bytes(data[second + 8 : second + 16], "little", signed=True)
    spaced = text.replace('"seed":0', '"seed": 0')
    yield from (
        {"name": "empty", "length": 0},
        {"name": "cut short inside the plan", "length": 100},
        {"name": "a byte short", "length": len(data) - 1},
        {"name": "a byte long", "at": len(data), "bytes": "00"},
        {"name": "a bit of the digest flipped", "at": len(data) - 1, "bytes": f"{data[-1] ^ 1:02x}"},
        {"name": "a number changed and not the digest", "at": counts + 8 * row, "bytes": word(3)},
        {"name": "another magic", "at": 0, "bytes": b"COTERIE-LABLE\n".hex(), "sealed": True},
        {"name": "a later version", "at": 14, "bytes": "0002", "sealed": True},
        {"name": "a plan longer than any", "at": 16, "bytes": "00400001", "sealed": True},
        {"name": "a plan longer than the file", "at": 16, "bytes": "003fffff", "sealed": True},
        {"name": "a plan of another length", "at": 16, "bytes": f"{len(text) - 1:08x}", "sealed": True},
        {"name": "a plan whose odds break its promise", "sealed": True,
         "at": 20 + text.index("45605201"), "bytes": b"45605202".hex()},
        {"name": "a plan with a space in it", "sealed": True,
         "at": 16, "remove": 4 + len(text), "bytes": f"{len(spaced):08x}" + spaced.encode().hex()},
        {"name": "a negative count", "sealed": True, "at": counts + 8 * row, "bytes": word(-1)},
        {"name": "a count without its sums", "sealed": True, "at": counts + 8 * row, "bytes": word(2)},
        {"name": "a sum larger than its count", "sealed": True,
         "at": start + 8 * row * size, "bytes": word(3)},
        {"name": "a sum of another parity", "sealed": True, "at": start + 8 * row * size, "bytes": word(0)},
        {"name": "a sum in a row without reports", "sealed": True,
         "at": start + 8 * (row ^ 1) * size, "bytes": word(1)},
        {"name": "a second moment that is not symmetric", "sealed": True,
         "at": second + 8, "bytes": word(-entry)},
        {"name": "a diagonal that is not the number of reports", "sealed": True,
         "at": second, "bytes": word(2)},
        {"name": "a second moment larger than the number of reports", "sealed": True,
         "at": second + 8, "bytes": word(3 * entry)},
        {"name": "a number above 2^46", "sealed": True,
         "at": counts + 8 * row, "bytes": word((1 << 46) + 1)},
    )  # fmt: skip


def ledger_files():
    """Ledgers with what stands in them."""
    first, token = (
        Reference(canonical(SMALL)),
        Reference(canonical(plan(3, [cross_polytope(4)], ids="token"))),
    )
    half = Reference(canonical(plan(3, [cross_polytope(4)], epsilon=0.5)))
    odd = 0.1  # a double that is no short fraction
    answers = {
        "no answers": [],
        "one answer": [(first, first.plan_id, 20000, (1, 0, 1), report("ledger", 0, 7))],
        "an answer that began with a token": [
            (token, token.plan_id, 0, (1, 0, 1), bytes(range(16)) + report("ledger", 1, 255))
        ],
        "three answers": [
            (half, half.plan_id, 19999, (0.5, 0, 0.5), report("ledger", 2, 0)),
            (first, bytes(range(32)), 20000, (1, 0, 1), report("ledger", 3, 1)),
            (token, token.plan_id, 4294967295, (odd, 2**-20, float("inf")), report("ledger", 4, 2)),
        ],
    }
    for name, entries in answers.items():
        data = Files["ledger_file"](
            [
                (who.plan_id, study, day, Files["figures"](*spent), sent)
                for who, study, day, spent, sent in entries
            ]
        )
        yield {
            "name": name,
            "answers": [
                {"plan_id": who.plan_id.hex(), "study_id": study.hex(), "day": day,
                 "figures": Files["figures"](*spent).decode(), "answer": sent.hex()}
                for who, study, day, spent, sent in entries
            ],
            "file": data.hex(),
        }  # fmt: skip


def loose_ledger_files():
    """A ledger that nobody should write and everybody reads: fractions that are not in lowest terms."""
    for written, reduced in (("2/2 0/5 3/1", "1 0 3"), ("6/4 10/30 inf", "3/2 1/3 inf")):
        one = (bytes(32), bytes(range(32)), 20000, written.encode(), report("ledger", 0, 7))
        yield {"written": written, "figures": reduced, "file": Files["ledger_file"]([one]).hex()}


def bad_ledger_files():
    one = (bytes(32), bytes(range(32)), 20000, b"1 0 1", report("ledger", 0, 7))
    good = Files["ledger_file"]([one])
    body = good[:-32]

    def with_figures(text):
        return Files["ledger_file"]([(*one[:3], text, one[4])])

    files = {
        "empty": b"",
        "a byte short": good[:-1],
        "a bit flipped": changed(good, 50, bytes([good[50] ^ 1])),
        "another magic": sealed(changed(body, 0, b"COTERIE-LODGER\n")),
        "an earlier version": sealed(changed(body, 15, b"\1")),
        "a record cut short": sealed(body + bytes(71)),
        "an answer cut short": sealed(body[:-1]),
        "a byte after the last answer": sealed(body + b"\0"),
        "a plan twice": Files["ledger_file"]([one, one]),
        "two figures": with_figures(b"1 0"),
        "a figure that is no fraction": with_figures(b"1.0 0 1"),
        "a negative figure": with_figures(b"-1 0 1"),
        "a figure with a leading zero": with_figures(b"01 0 1"),
        "an infinite promise": with_figures(b"inf 0 1"),
        "two spaces": with_figures(b"1  0 1"),
    }
    for name, data in files.items():
        yield {"name": name, "file": data.hex()}


def sections():
    return {
        "report_files": report_files(), "bad_report_files": bad_report_files(),
        "repeated_ids": repeated_ids(),
        "table_files": table_files(), "bad_table_files": bad_table_files(),
        "ledger_files": ledger_files(), "bad_ledger_files": bad_ledger_files(),
        "loose_ledger_files": loose_ledger_files(),
    }  # fmt: skip
