"""Whether a client's bytes follow from its people and the system's coins, and from nothing else.

For a moment the system's generator gives coins that were written down before. An honest client then

    says the same again   same coins, same people, later: the same bytes. Else clock, counter, memory or
                          another generator has a part in them
    has the same ids      same coins, other people: the same ids, from as many coins. Else ids, or what is
                          drawn, hang on the point
    needs its coins       other coins: other ids; no fewer coins than ids and answers hold; and, where ids are
                          coins as they were drawn, the same ids with other coins else: other answers

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
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.audit import tape
from coterie.audit.bounds import ALPHA, log_tail
from coterie.audit.command import CommandClient
from coterie.audit.probes import People, Probes
from coterie.audit.reading import Law
from coterie.audit.result import Check
from coterie.audit.samples import Send, reports_of
from coterie.plan import Plan
from coterie.wire.layout import ID_BYTES

PEOPLE: Final = 16
ROUNDS: Final = 12
COMMAND_ROUNDS: Final = 3  # a command starts five times in each

Ask = Callable[[People, tape.Tape], tuple[list[bytes], int | None]]  # people, coins -> reports, coins drawn


@contextmanager
def replaying(coins: tape.Tape) -> Iterator[None]:
    """Let the system's coins be a tape's, in this process."""
    kept = [(room, name, getattr(room, name)) for room, name in tape.PLACES]
    try:
        for room, name in tape.PLACES:
            setattr(room, name, coins.urandom)
        yield
    finally:
        for room, name, function in kept:
            setattr(room, name, function)


def asking(plan: Plan, send: Send) -> Ask:
    """Return how to ask a Python function, or a command, with known coins."""
    if isinstance(send, CommandClient):
        return lambda people, coins: _ask_command(send, people, coins)

    def ask(people: People, coins: tape.Tape) -> tuple[list[bytes], int | None]:
        with replaying(coins):
            sent = send(people)
        return reports_of(sent, plan), coins.drawn

    return ask


def _ask_command(client: CommandClient, people: People, coins: tape.Tape) -> tuple[list[bytes], int | None]:
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        shown = Path(tape.__file__).read_text(encoding="utf-8")
        (room / "sitecustomize.py").write_text(f"{shown}\n\ninstall()\n", encoding="utf-8")
        shutil.copy(Path(tape.__file__).with_suffix(".cjs"), room)
        note = room / "drawn"
        surroundings = {
            **coins.named(),
            tape.NOTE: str(note),
            "PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")])),
            "NODE_OPTIONS": f"{os.environ.get('NODE_OPTIONS', '')} --require {room / 'tape.cjs'}".strip(),
        }
        sent = client(people, surroundings)
        return sent, int(note.read_text()) if note.exists() else None


def check_replay(plan: Plan, send: Send, laws: tuple[Law, ...], bits: float, label: str = "") -> Check:
    """Ask a client again and again with coins that are known; `bits` is what answers of a report hold."""
    probes, ask, problems = Probes(plan), asking(plan, send), set()
    rounds = COMMAND_ROUNDS if isinstance(send, CommandClient) else ROUNDS
    least = math.floor(PEOPLE * (ID_BYTES + bits / 8))
    answered = same = 0
    for seed in range(rounds):
        people, others = probes.people(PEOPLE)[0], probes.people(PEOPLE)[0]
        first, drawn = ask(people, tape.Tape(seed))
        if drawn is None:
            words = "this command is neither Python nor node: its coins cannot be given again"
            return Check("empirical", f"replay{label}", True, words, {"replayed": False})
        again, drawn_again = ask(people, tape.Tape(seed))
        other, drawn_other = ask(others, tape.Tape(seed))
        fresh, _ = ask(people, tape.Tape(seed + rounds))
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
        coins = tape.Tape(seed).urandom(drawn)
        places = [coins.find(report[:ID_BYTES]) for report in first]
        if -1 not in places:  # ids are coins as they were drawn
            spans = tuple((place, place + ID_BYTES) for place in places)
            turned, _ = ask(people, tape.Tape(seed, seed + rounds, spans))
            kept = [(a, b) for a, b in zip(first, turned, strict=True) if a[:ID_BYTES] == b[:ID_BYTES]]
            answered, same = answered + len(kept), same + sum(a == b for a, b in kept)
    likely = math.exp(sum(law.size * math.log((law.chances**2).sum()) for law in laws))
    if same > likely * answered and float(log_tail(same, answered, likely)) < math.log(ALPHA):
        problems.add(f"{same} of {answered} answers stay as they were with the same ids and other coins")
    words = "; ".join(sorted(problems)) or (
        f"{rounds} times {PEOPLE} people: bytes follow from people and coins alone, ids from coins alone"
    )
    return Check("empirical", f"replay{label}", not problems, words, {"replayed": True})


def _ids(reports: list[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(each[:ID_BYTES] for each in reports), np.uint8).reshape(-1, ID_BYTES)
