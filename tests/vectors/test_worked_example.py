"""The worked example of the wire page is the first vector, and its files are what the package writes."""

import json
from pathlib import Path

from coterie.aggregate import Aggregate
from coterie.encode.ledger import Ledger
from coterie.plan import Plan
from coterie.wire.report_file import writing_reports

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/wire-format.md").read_text(encoding="utf-8")
VECTOR = json.loads((ROOT / "tests/vectors/codeword.json").read_text(encoding="utf-8"))["good"][0]
PLAN = Plan.from_json(VECTOR["plan"])
REPORT = bytes.fromhex(VECTOR["cases"][0]["report"])


def shown(data):
    return data.hex() in PAGE.replace(" ", "").replace("\n", "").replace("`", "")


def test_plan_keys_and_report_stand_on_the_page():
    assert f"```json{PLAN.to_json()}```" in PAGE.replace("\n", "")
    assert f"{len(PLAN.to_json())} bytes, one line" in PAGE
    for data in (
        PLAN.id_bytes,
        PLAN.randomness_key(),
        PLAN.randomness_key("embedding"),
        PLAN.randomness_key("view/0"),
    ):
        assert shown(data)
    assert shown(REPORT)


def test_the_files_stand_on_the_page(tmp_path, monkeypatch):
    with writing_reports(tmp_path / "reports", PLAN) as writer:
        writer.append(REPORT)
    assert shown((tmp_path / "reports").read_bytes())
    table = Aggregate(PLAN)
    table.add(REPORT)
    table.save(tmp_path / "table")
    data = (tmp_path / "table").read_bytes()
    assert shown(data[:20])
    assert shown(data[-32:])
    assert f"{len(data)} bytes" in " ".join(PAGE.split())
    monkeypatch.setattr("time.time", lambda: 20000.0 * 86400)
    Ledger(tmp_path / "ledger").answer(PLAN, lambda: REPORT)
    assert shown((tmp_path / "ledger").read_bytes())
