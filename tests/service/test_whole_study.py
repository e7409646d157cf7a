"""A whole study as somebody from outside runs it: commands, a browser's own JavaScript, and public bytes.

    features, sheet -> two plans under labels -> collector -> people by browser and by HTTP -> decoded
        -> report, registry, comparison -> verified from public bytes alone

Nothing of the package runs in this process but the drawing of people and the registry's schema. What is
checked in the end is checked in a folder of what was fetched without the operator's token, and nothing else.
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from coterie.features import Flag, Number, Schema
from coterie.show import people as demo
from tests.service.conftest import ask
from tests.unit.show.registry_schema import check_entry

COTERIE = str(Path(sys.executable).with_name("coterie"))
CLIENT = Path(__file__).parents[2] / "clients" / "web" / "test" / "client.mjs"
SHEET = """
[languages.en]
title = "How people listen"
purpose = "We plan the programme of the night."
who = "Radio Example"
contact = "study@radio.example"
consent = "Taking part is voluntary."
"""
PUBLIC = ("manifest", "table", "result", "report.json", "report")


class Outsider:
    """Somebody in a folder with the command line, who notes how long things take."""

    def __init__(self, folder, environment=None):
        self.folder, self.seconds = folder, {}
        self.environment = {**os.environ, "COLUMNS": "200", "TERM": "dumb", **(environment or {})}

    def coterie(self, *arguments, code=0):
        """Run a command in a process of its own; return what it printed."""
        start = time.monotonic()
        command = [COTERIE, *map(str, arguments)]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        name = " ".join(map(str, arguments[: 2 if arguments[0] in ("study", "waves") else 1]))
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - start
        return done.stdout

    def serve(self):
        """Start a collector; return its process, its address and the key that it published."""
        process = subprocess.Popen(
            [COTERIE, "serve", "--data", "collector", "--port", "0"],
            cwd=self.folder,
            env=self.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        key = url = None
        while url is None:
            line = process.stderr.readline()
            assert line, "it does not start"
            key = key or next(iter(re.findall(r"^[0-9a-f]{64}$", line)), None)
            url = next(iter(re.findall(r"collecting at (http://\S+)", line)), None)
        return process, url, key


def demo_people(number, shift, rng):
    """Draw the demo's people as records; of every other label some commuters have become night owls."""
    columns, habits = demo.draw_people(number, rng)
    others, others_habits = demo.draw_people(2 * number, rng)
    owls = np.flatnonzero(others_habits == 3)
    moved = rng.choice(np.flatnonzero(habits == 0), int(shift * number), replace=False)
    for name, column in columns.items():
        column[moved] = others[name][owls[: len(moved)]]
    return [{name: columns[name][row].item() for name in columns} for row in range(number)]


def two_groups(number, shift, rng):
    old = rng.random(number) < 0.5 + shift
    ages = np.where(old, rng.normal(70, 5, number), rng.normal(25, 5, number))
    return [{"age": float(age), "member": bool(member)} for age, member in zip(ages, old, strict=True)]


SMALL = {
    "schema": Schema((Number("age", 17, 90), Flag("member"))),
    "clusters": 2,
    "epsilon": 4.0,
    "draw": two_groups,
    "by_browser": 100,
    "by_http": 2_900,
    "shift": 0.2,
}
LARGE = {
    "schema": demo.SCHEMA,
    "clusters": 5,
    "epsilon": 2.0,
    "draw": demo_people,
    "by_browser": 2_000,
    "by_http": 50_000,
    "shift": 0.10,
}


@pytest.mark.nightly  # both decode eight times: a minute and ten
@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_a_whole_study_from_outside(tmp_path, needs, size):
    needs("Node and the built client", shutil.which("node") and (CLIENT.parents[1] / "dist").is_dir())
    outsider = Outsider(tmp_path)
    rng = np.random.default_rng(20261118)
    (tmp_path / "features.json").write_text(size["schema"].to_json(), encoding="utf-8")
    (tmp_path / "sheet.toml").write_text(SHEET, encoding="utf-8")
    collector, url, key = outsider.serve()
    try:
        plans = open_both(outsider, url, size)
        for label, plan in plans.items():
            shift = 0 if label == "north" else size["shift"]
            by_browser = size["by_browser"] if label == "north" else 0
            everybody = size["draw"](by_browser + size["by_http"], shift, rng)
            answer(outsider, url, plan, label, everybody, by_browser)
        listed = json.loads(outsider.coterie("study", "list", "--url", url, "--json"))["studies"]
        assert {each["label"] for each in listed} == set(plans)
        for plan in plans.values():
            outsider.coterie("study", "close", plan, "--url", url, "--yes")
            outsider.coterie("study", "decode", plan, "--url", url)
        public = fetched(tmp_path / "public", url, plans)
    finally:
        collector.terminate()
        assert collector.wait(60) in (0, -15)
        collector.stderr.close()
    figures = checked(public, key, plans, size)
    took = {name: round(seconds, 1) for name, seconds in outsider.seconds.items()}
    print(json.dumps({**figures, "seconds": took}, indent=1))


def open_both(outsider, url, size):
    """Design a plan for each label and open them, with their sheets; return their ids by label."""
    outsider.environment["COTERIE_OPERATOR_TOKEN"] = (
        outsider.folder / "collector" / "operator-token"
    ).read_text()
    people = size["by_browser"] + size["by_http"]
    plans = {}
    for number, label in enumerate(("north", "south")):
        beside = ["--study", plans["north"]] if plans else []
        asked = ["--clusters", size["clusters"], "--epsilon", size["epsilon"], "--users", people]
        made = ["plan", "--features", "features.json", *asked, "--minimum", 1000, "--seed", number]
        told = json.loads(outsider.coterie(*made, *beside, "--out", f"{label}.json", "--json"))
        plans[label] = told["plan_id"]
        if label == "north":
            outsider.coterie("study", "open", "north.json", "--url", url)
        outsider.coterie(
            "waves", "label", plans["north"], "--url", url, "--label", label, "--plan", f"{label}.json"
        )
        outsider.coterie("sheet", "sheet.toml", "--plan", f"{label}.json", "--url", url)
    return plans


def answer(outsider, url, plan, label, everybody, by_browser):
    """Let some people answer through the browser's client, each by itself, and all others by files."""
    start = time.monotonic()
    if by_browser:
        done = subprocess.run(
            [shutil.which("node"), str(CLIENT), "--send", f"{url}/plans/{plan}"],
            input="\n".join(json.dumps(record) for record in everybody[:by_browser]),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.split() == ["sent"] * by_browser, done.stderr
        outsider.seconds["browser client"] = time.monotonic() - start
    with (outsider.folder / f"{label}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(everybody[0]))
        writer.writeheader()
        writer.writerows(everybody[by_browser:])
    outsider.coterie("encode", f"{label}.csv", "--plan", f"{label}.json", "--out", f"{label}.reports")
    outsider.coterie("send", f"{label}.reports", "--url", url)


def fetched(folder, url, plans):
    """Fetch all that anybody can fetch of the plans, and nothing else, into a new folder."""
    folder.mkdir()
    for label, plan in plans.items():
        for name in ("", "/sheet", *(f"/{each}" for each in PUBLIC)):
            status, _, data = ask(url, "GET", f"/plans/{plan}{name}")
            assert status == 200, name
            (folder / f"{label}{name.replace('/', '.') or '.plan'}").write_bytes(data)
    return folder


def checked(public, key, plans, size):
    """Check everything in a folder of public bytes, without a token or a collector; return figures."""
    anybody = Outsider(public, {"COTERIE_OPERATOR_TOKEN": ""})
    figures = {}
    for label, plan in plans.items():
        parts = [
            f"{label}.manifest",
            "--table",
            f"{label}.table",
            "--result",
            f"{label}.result",
            "--key",
            key,
        ]
        told = json.loads(anybody.coterie("verify", *parts, "--json"))
        assert (told["plan_id"], told["key_given"], told["words_checked"]) == (plan, True, True)
        assert told["count"] == size["by_http"] + (size["by_browser"] if label == "north" else 0)
        anybody.coterie("sheet", f"{label}.sheet", "--plan", f"{label}.plan", "--key", key)
        record = anybody.coterie(
            "inspect",
            f"{label}.table",
            "--registry",
            "--sheet",
            f"{label}.sheet",
            "--region",
            "EU",
            "--tier",
            3,
        )
        check_entry(json.loads(record))
        assert "Radio Example" in record
        report = json.loads((public / f"{label}.report.json").read_text())
        assert plan in json.dumps(report)
        assert "How people listen" in (public / f"{label}.report").read_text()
        figures[label] = {"people": told["count"], "difference": told["difference"]}
    forged = bytearray((public / "north.table").read_bytes())
    forged[len(forged) // 2] ^= 1
    (public / "forged.table").write_bytes(forged)
    anybody.coterie("verify", "north.manifest", "--table", "forged.table", "--key", key, code=1)
    tables = ["north.table", "south.table"]
    compared = json.loads(
        anybody.coterie("compare", *tables, "--out", "compared.html", "--random-state", 0, "--json")
    )
    moved = [each for each in compared["differences"] if each["moved"]]
    assert moved, compared["differences"]
    assert "south" in (public / "compared.html").read_text()
    figures["moved"] = [{name: each[name] for name in ("group", "value", "low", "high")} for each in moved]
    figures["verifying"] = {name: round(seconds, 1) for name, seconds in anybody.seconds.items()}
    return figures
