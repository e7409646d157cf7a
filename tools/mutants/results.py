"""What became of every mutant (results.csv) and which survivors change nothing (equivalents.txt)."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tools.mutants.operators import Mutant, mutants
from tools.mutants.tree import PACKAGE, ROOMS, ROOT, STRICT, digest, files
from tools.mutants.trial import Outcome

HERE = Path(__file__).parent
RESULTS, EQUIVALENTS = HERE / "results.csv", HERE / "equivalents.txt"
MOST_ELSEWHERE = 0.05
_HEAD = ("mutant", "file_digest", "state", "tests", "seconds", "noticed_by")


def all_mutants(rooms: Iterable[str]) -> list[Mutant]:
    """Return the mutants of rooms as their files are now."""
    return [
        mutant
        for room in rooms
        for file in files(room)
        for mutant in mutants(file, (ROOT / PACKAGE / file).read_text(encoding="utf-8"))
    ]


class Results:
    """The table of outcomes; an outcome holds as long as its file does not change."""

    def __init__(self, path: Path = RESULTS) -> None:
        self.path = path
        self.rows: dict[str, tuple[str, Outcome]] = {}
        self._now: dict[str, set[str]] = {}  # of each file that changed since: its mutants' names
        if path.exists():
            with path.open(encoding="utf-8", newline="") as lines:
                for row in csv.DictReader(lines):
                    outcome = Outcome(
                        row["state"], row["noticed_by"], int(row["tests"]), float(row["seconds"])
                    )
                    self.rows[row["mutant"]] = (row["file_digest"], outcome)

    def of(self, mutant: Mutant) -> Outcome | None:
        """Return the outcome of a mutant if it was tried on the file as it is."""
        found = self.rows.get(mutant.name)
        return found[1] if found is not None and found[0] == mutant.digest else None

    def keep(self, mutant: Mutant, outcome: Outcome) -> None:
        """Take an outcome down."""
        self.rows[mutant.name] = (mutant.digest, outcome)

    def save(self) -> None:
        """Write the table, whole or not at all; rows of mutants that no longer exist are left out."""
        temporary = self.path.with_suffix(".tmp")
        with temporary.open("w", encoding="utf-8", newline="") as lines:
            table = csv.writer(lines, lineterminator="\n")
            table.writerow(_HEAD)
            for name, (found, outcome) in sorted(self.rows.items()):
                if self._exists(name, found):
                    table.writerow(
                        (name, found, outcome.state, outcome.tests, f"{outcome.seconds:.1f}", outcome.by)
                    )
        temporary.replace(self.path)

    def _exists(self, name: str, found: str) -> bool:
        """Tell whether there is such a mutant: its file is as it was, or the file as it is has it, too."""
        file = name.split(" | ")[0]
        place = ROOT / PACKAGE / file
        text = place.read_text(encoding="utf-8") if place.exists() else ""
        if found != digest(text) and file not in self._now:
            self._now[file] = {mutant.name for mutant in mutants(file, text)}
        return found == digest(text) or name in self._now[file]


def equivalents(path: Path = EQUIVALENTS) -> dict[str, str]:
    """Return accepted mutants with their reasons: names in a row, then the reason they share, indented."""
    accepted: dict[str, str] = {}
    names: list[str] = []
    reason = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            if not names:
                raise ValueError(f"{path.name}:{number}: a reason without a mutant")
            reason = f"{reason} {line.strip()}".strip()
            accepted.update(dict.fromkeys(names, reason))
        else:
            if reason:
                names, reason = [], ""
            names.append(line.strip())
    if names and not reason:
        raise ValueError(f"{path.name}: {names[-1]} has no reason")
    return accepted


def report(results: Results, rooms: Iterable[str] = ROOMS) -> bool:
    """Print the shares of each room and every unexplained survivor; tell whether the bar is met."""
    accepted = equivalents()
    met = True
    survivors: list[tuple[Mutant, Outcome]] = []
    every: set[str] = set()
    print(f"{'room':<12}{'mutants':>8}{'tried':>7}{'noticed':>9}{'accepted':>9}{'left':>6}{'share':>8}")
    for room in rooms:
        states: Counter[str] = Counter()
        made = all_mutants([room])
        every.update(mutant.name for mutant in made)
        for mutant in made:
            outcome = results.of(mutant)
            if outcome is None:
                continue
            states["tried"] += 1
            if outcome.noticed:
                states["noticed"] += 1
            elif mutant.name in accepted:
                states["accepted"] += 1
            else:
                states["left"] += 1
                survivors.append((mutant, outcome))
        share = states["left"] / max(states["tried"], 1)
        met &= states["left"] == 0 if room in STRICT else share < MOST_ELSEWHERE
        print(
            f"{room:<12}{len(made):>8}{states['tried']:>7}{states['noticed']:>9}{states['accepted']:>9}"
            f"{states['left']:>6}{share:>8.1%}"
        )
    for mutant, outcome in survivors:
        print(f"{outcome.state}: {mutant.name}  (line {mutant.line}, {outcome.tests} tests)")
    for name in accepted:
        room = name.split("/")[0]
        if room in rooms and name not in every:
            print(f"no such mutant any more, yet accepted: {name}")
            met = False
        elif (row := results.rows.get(name)) is not None and row[1].noticed:
            print(f"accepted as equivalent, yet noticed by {row[1].by}: {name}")
            met = False
    return met
