"""Whether a client's bytes follow from its people and the system's coins, and from nothing else.

For a moment the system's generator gives coins that were written down before. An honest client then

    says the same again   same coins, same people, later: the same bytes. Else clock, counter, memory or
                          another generator has a part in them
    has the same ids      same coins, other people: the same ids, from as many coins. Else ids, or what is
                          drawn, hang on the point
    needs its coins       other coins: other ids; no fewer coins than ids and answers hold; and, where ids are
                          coins as they were drawn, the same ids with other coins else: answers by the law
    uses each once        another byte of coins, all others as they were: another id or another answer of one
                          person. Else ids tell of answers, or people of each other. Twelve bytes are an id

These are yes or no, without samples: also for an id that is the hash of point and nanosecond, which no
statistics of ids tell from an honest one.

In Python the generator is `os.urandom` (and so `secrets` and `random.SystemRandom`), within a process and in
those that it starts; in node it is `crypto`. A command that loads neither is not replayed, and the audit says
so. A client in Python that only starts another program is taken for one that draws nothing: start the
program.
"""

from __future__ import annotations

import itertools
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coterie.audit import tape
from coterie.audit.answers import reader_of
from coterie.audit.bounds import ALPHA, log_fit, tallied
from coterie.audit.command import CommandClient
from coterie.audit.probes import People, Probes
from coterie.audit.reading import Reader
from coterie.audit.result import Check
from coterie.audit.samples import Send, reports_of
from coterie.plan import Plan
from coterie.wire.layout import ID_BYTES

PEOPLE: Final = 16
ROUNDS: Final = 12
MANY: Final = 256  # people who are answered again and again with the same ids
MANY_BYTES: Final = 1 << 16  # of their reports
TURNS: Final = 24
FEW: Final = 3  # people whose coins are changed byte by byte
MOST_BYTES: Final = 32  # of each
LEAST_ALONE: Final = 0.9  # of changes of an id: where a number is drawn again, all that follows is another
LEAST_OF_ID: Final = 11  # of a person's bytes
COMMAND_ROUNDS: Final = 3  # a command starts four times in each, then once a turn and once a byte
COMMAND_TURNS: Final = 8

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

    def ask(people: People, coins: tape.Tape) -> tuple[list[bytes], int | None]:
        if isinstance(send, CommandClient):
            sent, drawn = _ask_command(send, people, coins)
            return reports_of(sent, plan), drawn
        with replaying(coins):
            told = send(people)
        return reports_of(told, plan), coins.drawn

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


def check_replay(plan: Plan, send: Send) -> Check:
    """Ask a client again and again with coins that are known."""
    probes, ask, problems = Probes(plan), asking(plan, send), set()
    command = isinstance(send, CommandClient)
    rounds = COMMAND_ROUNDS if command else ROUNDS
    reader = reader_of(plan)(plan)
    least = math.floor(PEOPLE * (ID_BYTES + reader.bits() / 8))
    for seed in range(rounds):
        people, others = probes.people(PEOPLE)[0], probes.people(PEOPLE)[0]
        first, drawn = ask(people, tape.Tape(seed))
        if drawn is None:
            words = "this command is neither Python nor node: its coins cannot be given again"
            return Check("empirical", "replay", True, words, {"replayed": False})
        again, drawn_again = ask(people, tape.Tape(seed))
        other, drawn_other = ask(others, tape.Tape(seed))
        fresh, _ = ask(people, tape.Tape(seed + rounds))
        if any(len(report) != plan.report_width for report in (*first, *again, *other, *fresh)):
            return Check("empirical", "replay", False, "reports have other lengths")
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
    if not problems:  # then coins can be changed one by one
        problems |= _turned(probes, ask, reader, plan.report_width, COMMAND_TURNS if command else TURNS)
        problems |= _one_by_one(probes, ask, reader, 1 if command else FEW)
    words = "; ".join(sorted(problems)) or (
        f"{rounds} times {PEOPLE} people: bytes follow from people and coins alone, ids from coins alone; "
        "no coin is used twice"
    )
    return Check("empirical", "replay", not problems, words, {"replayed": True})


def _turned(probes: Probes, ask: Ask, reader: Reader, width: int, turns: int) -> set[str]:
    """Ask the same people with the same ids and other coins: each must be answered by the law."""
    people = probes.people(max(FEW, min(MANY, MANY_BYTES // width)))[0]
    first, drawn = ask(people, tape.Tape(1))
    spans = _spans(first, drawn)
    points, ids, turned = probes.points(people), _ids(first), []
    for turn in range(turns if spans else 0):
        rows = _rows(ask(people, tape.Tape(1, 2 + turn, spans))[0])
        kept = np.flatnonzero((rows[:, :ID_BYTES] == ids).all(axis=1))
        turned.append((kept, reader.read(points[kept], rows[kept])))
    for number, law in enumerate(reader.laws if turned else ()):
        cells = np.concatenate([found[number] for _, found in turned])
        who = np.repeat(np.concatenate([kept for kept, _ in turned]), cells.shape[1])
        if log_fit(tallied(who, cells.ravel(), len(law.chances)), law.chances)[0] < math.log(ALPHA):
            return {f"with the same ids and other coins, {law.name}s do not have their law"}
    return set()


def _one_by_one(probes: Probes, ask: Ask, reader: Reader, count: int) -> set[str]:
    """Change one byte of the coins at a time, and see what changes."""
    people = probes.people(count)[0]
    points = probes.points(people)
    first, drawn = ask(people, tape.Tape(1))
    ids, draws = _ids(first), reader.read(points, _rows(first))[0]
    inside = [place for span in _spans(first, drawn) for place in range(*span)]
    others = sorted(set(range(drawn or 0)) - set(inside))
    others = np.random.default_rng().permutation(others)[: MOST_BYTES * count - len(inside)].tolist()
    id_alone = id_too = one = several = 0
    for place in (*inside, *others):
        other = next(seed for seed in itertools.count(2) if _byte(seed, place) != _byte(1, place))
        coins = tape.Tape(1, other, ((0, place), (place + 1, sys.maxsize)))
        rows = _rows(ask(people, coins)[0])
        new_ids = (rows[:, :ID_BYTES] != ids).any(axis=1)
        new_draws = (reader.read(points, rows)[0] != draws).any(axis=1)
        if place in inside or not inside:  # elsewhere a coin may shift the ids of those who come later
            id_too += int(new_ids.any())
            id_alone += int(new_ids.sum() == 1 and not new_draws.any())
        one += int(new_draws.sum() == 1)
        several += int(new_draws.sum() > 1)
    problems = set()
    if id_alone < LEAST_ALONE * id_too:
        problems.add("coins of an id are coins of an answer, or of another id")
    if len(inside) + len(others) == drawn and id_too < LEAST_OF_ID * count:
        problems.add(f"ids of {count} people hang on {id_too} bytes of coins, not on {ID_BYTES} each")
    if several > one and reader.laws[0].cap:  # noise takes more coins or fewer, and shifts all that follow
        problems.add("a coin decides the answers of several people")
    return problems


def _byte(seed: int, place: int) -> bytes:
    coins = tape.Tape(seed)
    coins.drawn = place
    return coins.urandom(1)


def _spans(reports: list[bytes], drawn: int | None) -> tuple[tuple[int, int], ...]:
    """Return where in the coins the ids stand; none if an id is not coins as they were drawn."""
    coins = tape.Tape(1).urandom(drawn or 0)
    starts = [coins.find(report[:ID_BYTES]) for report in reports]
    return () if -1 in starts else tuple((start, start + ID_BYTES) for start in starts)


def _rows(reports: list[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(reports), np.uint8).reshape(len(reports), -1)


def _ids(reports: list[bytes]) -> NDArray[np.uint8]:
    return _rows(reports)[:, :ID_BYTES]
