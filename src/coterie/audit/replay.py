"""Whether a client's bytes follow from its people and the system's coins, and from nothing else.

For a moment the system's generator gives coins that were written down before. An honest client then

    says the same again   same coins, same people, later: the same bytes. Else clock, counter, memory or
                          another generator has a part in them
    has the same ids      same coins, other people: the same ids, from as many coins. Else ids, or what is
                          drawn, hang on the point
    needs its coins       other coins: other ids; and no fewer coins than ids and answers hold

These are yes or no, without samples: also for an id that is the hash of point and nanosecond, which no
statistics of ids tell from an honest one.

In Python the generator is `os.urandom` (and so `secrets` and `random.SystemRandom`), within a process and in
those that it starts; in node it is `crypto`. A command that loads neither is not replayed, and the audit says
so. A client in Python that only starts another program is taken for one that draws nothing: start the
program.
"""

from __future__ import annotations

import math
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from coterie.audit import tape
from coterie.audit.command import CommandClient
from coterie.audit.probes import People, Probes
from coterie.audit.result import Check
from coterie.audit.samples import Send
from coterie.plan import Plan
from coterie.wire.layout import ID_BYTES

PEOPLE: Final = 16
ROUNDS: Final = 12
COMMAND_ROUNDS: Final = 3  # a command starts four times in each

Ask = Callable[[People, int], tuple[list[bytes], int | None]]  # people, seed -> reports, coins drawn

_NODE: Final = """
const { createHash } = require("node:crypto");
const crypto = require("node:crypto");
const { writeFileSync } = require("node:fs");
const seed = Buffer.alloc(8);
seed.writeBigUInt64BE(BigInt(process.env.COTERIE_AUDIT_SEED));
let drawn = 0;
const tell = () => writeFileSync(process.env.COTERIE_AUDIT_NOTE, String(drawn));
function take(count) {
  const blocks = [];
  const first = Math.floor(drawn / 32), skip = drawn % 32, end = Math.ceil((drawn + count) / 32);
  for (let i = first; i < end; i++) {
    const place = Buffer.alloc(8);
    place.writeBigUInt64BE(BigInt(i));
    blocks.push(createHash("sha256").update(seed).update(place).digest());
  }
  drawn += count;
  tell();
  return Buffer.concat(blocks).subarray(skip, skip + count);
}
function fill(array) {
  const bytes = ArrayBuffer.isView(array) ? new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
    : new Uint8Array(array);
  bytes.set(take(bytes.length));
  return array;
}
tell();
crypto.randomBytes = (count, then) => (then ? then(null, take(count)) : take(count));
crypto.randomFillSync = fill;
crypto.getRandomValues = fill;
crypto.webcrypto.getRandomValues = fill;
Object.getPrototypeOf(globalThis.crypto).getRandomValues = fill;
require("node:module").syncBuiltinESMExports();
"""


@contextmanager
def replaying(seed: int) -> Iterator[tape.Tape]:
    """Let the system's coins be a tape's, in this process."""
    coins = tape.Tape(seed)
    places: list[tuple[Any, str]] = [(os, "urandom"), (random, "_urandom")]
    if hasattr(os, "getrandom"):
        places.append((os, "getrandom"))
    kept = [getattr(room, name) for room, name in places]
    try:
        for room, name in places:
            setattr(room, name, coins.urandom)
        yield coins
    finally:
        for (room, name), function in zip(places, kept, strict=True):
            setattr(room, name, function)


def asking(send: Send) -> Ask:
    """Return how to ask a Python function, or a command, with known coins."""
    if isinstance(send, CommandClient):
        return lambda people, seed: _ask_command(send, people, seed)

    def ask(people: People, seed: int) -> tuple[list[bytes], int | None]:
        with replaying(seed) as coins:
            sent = send(people)
        return [bytes(report) for report in sent], coins.drawn

    return ask


def _ask_command(client: CommandClient, people: People, seed: int) -> tuple[list[bytes], int | None]:
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        shown = Path(tape.__file__).read_text(encoding="utf-8")
        (room / "sitecustomize.py").write_text(f"{shown}\n\ninstall()\n", encoding="utf-8")
        (room / "tape.cjs").write_text(_NODE, encoding="utf-8")
        note = room / "drawn"
        surroundings = {
            tape.SEED: str(seed),
            tape.NOTE: str(note),
            "PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")])),
            "NODE_OPTIONS": f"{os.environ.get('NODE_OPTIONS', '')} --require {room / 'tape.cjs'}".strip(),
        }
        sent = client(people, surroundings)
        return sent, int(note.read_text()) if note.exists() else None


def check_replay(plan: Plan, send: Send, bits: float, label: str = "") -> Check:
    """Ask a client again and again with coins that are known; `bits` is what answers of a report hold."""
    probes, ask, problems = Probes(plan), asking(send), set()
    rounds = COMMAND_ROUNDS if isinstance(send, CommandClient) else ROUNDS
    least = math.floor(PEOPLE * (ID_BYTES + bits / 8))
    for seed in range(rounds):
        people, others = probes.people(PEOPLE)[0], probes.people(PEOPLE)[0]
        first, drawn = ask(people, seed)
        if drawn is None:
            words = "this command is neither Python nor node: its coins cannot be given again"
            return Check("empirical", f"replay{label}", True, words, {"replayed": False})
        (again, drawn_again), (other, drawn_other) = ask(people, seed), ask(others, seed)
        fresh, _ = ask(people, seed + rounds)
        if any(len(report) != plan.report_width for report in (*first, *again, *other, *fresh)):
            return Check("empirical", f"replay{label}", False, "reports have other lengths")
        if drawn < least:
            problems.add(f"{drawn} bytes of coins are drawn where ids and answers hold {least}")
        if drawn_again != drawn or first != again:
            problems.add("the same people and coins give other bytes later")
        if drawn_other != drawn:
            problems.add("how many coins are drawn hangs on the point")
        ids, other_ids, fresh_ids = (_ids(each) for each in (first, other, fresh))
        if not np.array_equal(ids, other_ids):
            problems.add("with the same coins, other people have other ids")
        if (ids == fresh_ids).all(axis=1).any():
            problems.add("other coins give the same ids")
    words = "; ".join(sorted(problems)) or (
        f"{rounds} times {PEOPLE} people: bytes follow from people and coins alone, ids from coins alone"
    )
    return Check("empirical", f"replay{label}", not problems, words, {"replayed": True})


def _ids(reports: list[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(each[:ID_BYTES] for each in reports), np.uint8).reshape(-1, ID_BYTES)
