"""Clients whose coins are given again: in this process, in Python and in node."""

import hashlib
import os
import random
import secrets
import shutil
import sys

import numpy as np
import pytest

from coterie.audit import tape
from coterie.audit.canaries import FRESH, NAMED, _bent, _usual, sender
from coterie.audit.command import CommandClient
from coterie.audit.replay import _ask_command, _ids, check_replay, replaying
from coterie.coins import SystemCoins
from coterie.protocols import encoder_of

PLAN = _usual()
ENCODER, TOTAL = encoder_of(PLAN), PLAN.parameters.randomizer.total


def replayed(send):
    return check_replay(PLAN, send)


def keyed(parts, share=1.0):
    """Return a client some of whose draws are a keyed hash of the id and more, whatever else was drawn."""

    def bend(points, ids, draws):
        hashed = [hashlib.blake2b(each.tobytes() + part, key=b"key").digest() for each, part in parts(ids)]
        made = [int.from_bytes(each[:8], "big") % TOTAL for each in hashed]
        return np.where(SystemCoins().below_many(100, len(draws)) < 100 * share, made, draws)

    return _bent(PLAN, bend)


def from_a_seed(x):
    """Hash a short seed, of more coins than are needed, to an id and to a draw."""
    seeds = [os.urandom(40)[:6] for _ in x]
    ids = _ids([hashlib.sha256(seed).digest() for seed in seeds])
    draws = [int.from_bytes(hashlib.sha256(b"d" + seed).digest()[:6], "big") % TOTAL for seed in seeds]
    return _bent(PLAN, lambda x, ids, _: np.array(draws), lambda x: ids)(x)


def a_third_of_the_id_from_the_rest(x):
    seeds = [os.urandom(12)[:8] for _ in x]
    return ENCODER.encode(x, _ids([each + hashlib.sha256(each).digest() for each in seeds]), SystemCoins())


def a_sum_of_coins(points, ids, draws):
    draws[2::3] = (draws[: len(draws[2::3]) * 3 : 3] + draws[1 : len(draws[2::3]) * 3 : 3]) % TOTAL
    return draws


def test_the_systems_coins_can_be_given_again_and_come_back():
    taken = []
    for _ in range(2):
        with replaying(tape.Tape(5)):
            taken.append((os.urandom(7), secrets.token_bytes(20), random.SystemRandom().random()))
    assert taken[0] == taken[1]
    assert os.urandom(7) != taken[0][0]
    assert os.urandom is random._urandom


def test_a_tape_keeps_what_it_is_told_to():
    one, other = tape.Tape(1).urandom(100), tape.Tape(2).urandom(100)
    mixed = tape.Tape(1, 2, ((10, 20), (64, 70)))
    taken = mixed.urandom(15) + mixed.urandom(85)
    assert taken == other[:10] + one[10:20] + other[20:64] + one[64:70] + other[70:]
    assert mixed.named() == {tape.SEED: "1", tape.OTHER: "2", tape.KEPT: "10-20,64-70"}


def test_an_honest_client_passes():
    found = replayed(sender(PLAN))
    assert found.passed, found.found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("client", "words"),
    [
        (NAMED["an id that is a hash of point and time"], "other people have other ids"),
        (FRESH["a generator seeded by the clock"], "0 bytes of coins"),
        (lambda: _bent(PLAN, lambda x, ids, draws: draws * 0), "places do not have their law"),
        (lambda: keyed(lambda ids: [(each, b"") for each in ids]), "coins of an id are coins of an answer"),
        (lambda: keyed(lambda ids: [(each, b"") for each in ids], 0.05), "places do not have their law"),
        (
            lambda: keyed(lambda ids: [(each, os.urandom(1)) for each in ids]),
            "places do not have their law",
        ),
        (lambda: from_a_seed, "coins of an id are coins of an answer"),
        (lambda: a_third_of_the_id_from_the_rest, "ids of 3 people hang on"),
        (lambda: _bent(PLAN, a_sum_of_coins), "a coin decides the answers of several people"),
        (lambda: lambda x: sender(PLAN)(np.repeat(x, 2, axis=0))[::2], None),
    ],
)
def test_coins_that_come_from_elsewhere_show(client, words):
    found = replayed(client())
    assert found.passed == (words is None)
    assert words is None or words in found.found


SCRIPT = """
import json, os, sys
for line in sys.stdin:
    print((os.urandom(12) + bytes([json.loads(line)[0] > 0])).hex())
"""
NODE = """
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const more = crypto.getRandomValues(new Uint8Array(4));
  console.log(Buffer.concat([randomBytes(8), more]).toString("hex") + "00");
}
"""


def test_python_and_node_draw_from_the_same_tape(tmp_path):
    (tmp_path / "client.py").write_text(SCRIPT)
    (tmp_path / "client.mjs").write_text(NODE)
    commands = [f"{sys.executable} {tmp_path}/client.py"]
    if shutil.which("node"):
        commands.append(f"node {tmp_path}/client.mjs")
    people = np.ones((3, 3))
    for coins in (tape.Tape(9), tape.Tape(9, 10, ((3, 15), (20, 30)))):
        whole = tape.Tape(**_parts(coins)).urandom(36)
        for command in commands:
            sent, drawn = _ask_command(CommandClient(command, PLAN), people, coins)
            assert drawn == 36
            if command.startswith("node"):  # four bytes first
                assert [each[8:12] + each[:8] for each in sent] == [whole[i : i + 12] for i in (0, 12, 24)]
            else:
                assert [each[:12] for each in sent] == [whole[i : i + 12] for i in (0, 12, 24)]


def _parts(coins):
    return {"seed": coins._seed, "other": coins._other, "kept": coins._kept}


@pytest.mark.slow
def test_answers_without_coins_show_in_a_command(tmp_path):
    (tmp_path / "client.py").write_text(SCRIPT)
    found = replayed(CommandClient(f"{sys.executable} {tmp_path}/client.py", PLAN))
    assert not found.passed
    assert "bytes of coins are drawn" in found.found


def test_a_command_that_cannot_be_replayed_is_said_to_be_one(tmp_path):
    script = tmp_path / "client.sh"
    script.write_text("while read line; do echo 00000000000000000000000000; done\n")
    found = replayed(CommandClient(f"sh {script}", PLAN))
    assert found.passed
    assert "cannot be given again" in found.found
