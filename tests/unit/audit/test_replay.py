"""Clients whose coins are given again: in this process, in Python and in node."""

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
from coterie.audit.reading import Reading
from coterie.audit.replay import _ask_command, check_replay, replaying

PLAN = _usual()
LAWS = Reading(PLAN).laws


def replayed(send):
    return check_replay(PLAN, send, LAWS, bits=7.7)


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


@pytest.mark.parametrize(
    ("client", "words"),
    [
        (NAMED["an id that is a hash of point and time"], "other people have other ids"),
        (FRESH["a generator seeded by the clock"], "0 bytes of coins"),
        (lambda: _bent(PLAN, lambda x, ids, draws: draws * 0), "192 of 192 answers stay"),
        (lambda: _bent(PLAN, lambda x, ids, draws: ids[:, 0].astype(np.int64) << 24), "answers stay"),
        (lambda: lambda x: sender(PLAN)(np.repeat(x, 2, axis=0))[: len(x)], None),
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
