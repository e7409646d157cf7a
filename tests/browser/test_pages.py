"""The collector's pages in real Chromium: taking part by keyboard, what is shown and sent, what cannot be."""

import dataclasses
import hashlib
import math
import re
from pathlib import Path

import numpy as np
import pytest

from coterie.cli.page import render
from coterie.cli.simulation import simulate
from coterie.coins import SimulationCoins
from coterie.features import Category, Cycle, Embedding, Flag, Number, Ordinal, Schema
from coterie.plan import Plan
from coterie.plan.collection import Collection
from coterie.protocols import encoder_of
from coterie.remote import Receipt, RemoteCollector
from coterie.service.pages.assets import assets
from coterie.service.pages.routes import PAGES
from coterie.service.waves import Part
from coterie.sheet import draft_sheet
from coterie.show.results import result_page
from tests.browser.test_reports import RECORD_COINS, draw_of
from tests.service.conftest import TOKEN, Clock, post, reports_of, serving
from tests.service.test_pages import EVIL, ODD, evil_schema
from tests.unit.cli.test_demo import silently
from tests.unit.show.test_show import result_of_two

REPORTS = 300
SCHEMA = Schema(
    (
        Cycle("hour", 24, unit="h", description="when you mostly listen"),
        Cycle("weekday", 7, description="the day of most use; 0 is Monday"),
        Number("minutes", 1, 120, "log", unit="min"),
        Category("device", ("phone", "tablet", 3), unknown="own"),
        Category("town", tuple(f"town {i}" for i in range(20))),
        Flag("member"),
        Ordinal("size", ("S", "M", "L")),
        Cycle("angle", 360, unit="°"),
    )
)

FAULTS = (Path(__file__).parent / "faults.js").read_text(encoding="utf-8").partition("*/")[2].strip()


def design(features=SCHEMA, epsilon=2.0, **public):
    return Plan.design(features=features, clusters=3, epsilon=epsilon, expected_users=20_000, **public)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def collector(tmp_path, clock):
    """Run a collector with its pages; `put` takes a plan in and returns the address of its pages."""
    with serving(tmp_path, clock=clock, routes=PAGES, status_seconds=0) as running:
        running.operator = RemoteCollector(running.url, token=TOKEN, attempts=1)
        local = running.url.replace("127.0.0.1", "localhost")

        def put(plan):
            running.operator.put_plan(plan)
            return f"{local}/plans/{plan.id}"

        def kept(plan):
            running.store.compact(plan.id)
            return sorted(bytes(row) for chunk in running.store.reports(plan.id) for row in chunk)

        running.put, running.kept = put, kept
        yield running
        running.operator.disconnect()


def shown_bytes(page):
    return bytes.fromhex("".join(page.locator(".bytes code").all_inner_texts()).replace(" ", ""))


def tab_to(page, label):
    """Press the tabulator until a control has the focus."""
    wanted = page.get_by_label(label, exact=True).element_handle()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement === wanted", wanted):
            return
    raise AssertionError(f"the keyboard does not reach {label}")


def make_report(page):
    """Go on to all answers in view, and let the one report be drawn from them."""
    page.get_by_role("button", name="Check my answers").click()
    page.click("#draw")
    page.wait_for_selector("#report")


# ---------------------------------------------------------------- taking part


def fill_by_keyboard(page):
    """Answer everything without a mouse; return the record."""
    keys = page.keyboard
    tab_to(page, "Hour")
    keys.type("0745AM")
    tab_to(page, "Weekday")
    keys.type("Tues")
    tab_to(page, "Minutes")
    keys.type("12.5")
    group = page.get_by_role("group", name="Device")
    group.get_by_label("Prefer not to say").focus()  # radios: one stop, arrows inside
    for _ in range(3):
        keys.press("ArrowDown")  # round the end: phone, tablet, 3
    tab_to(page, "Town")
    keys.type("town 7")
    page.get_by_role("group", name="Member").get_by_label("Prefer not to say").focus()
    keys.press("ArrowDown")
    page.get_by_role("group", name="Size").get_by_label("Prefer not to say").focus()
    keys.press("ArrowUp")
    tab_to(page, "Angle")
    keys.type("270")
    people = {"hour": 7.75, "weekday": 1, "minutes": 12.5, "angle": 270.0}
    return {**people, "device": 3, "town": "town 7", "member": True, "size": "L"}


def test_somebody_takes_part_by_keyboard(collector, visit, python):
    plan = design(collection=Collection(minimum=1))
    page = visit(collector.put(plan) + "/participate", before=RECORD_COINS)
    record = fill_by_keyboard(page)
    assert page.evaluate("() => window.coins") == []
    page.keyboard.press("Enter")
    page.wait_for_selector("#review")
    assert page.evaluate("() => document.activeElement.textContent") == "Are these your answers?"
    shown = page.locator(".review dd").all_inner_texts()
    assert shown == ["07:45", "Tuesday", "12.5 min", "3", "town 7", "Yes", "L", "270 °"]
    assert page.evaluate("() => window.coins") == []  # all in view, and nothing drawn
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#report")
    assert page.evaluate("() => document.activeElement.textContent") == "This is all that leaves your device"
    assert collector.kept(plan) == []  # nothing was sent yet

    identity, *words = page.evaluate("() => window.coins")
    draw = draw_of(words, plan.parameters.randomizer.total)
    report = shown_bytes(page)
    assert [report.hex()] == python(plan, plan.features.points([record]), [identity], [draw])

    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.id") == "send"
    page.keyboard.press("Enter")
    page.wait_for_selector("#sent")
    assert collector.kept(plan) == [report]
    receipt = Receipt.read(page.locator("#receipt").inner_text())
    assert receipt == Receipt.of(plan, report)
    assert collector.operator.withdraw_by([receipt]).taken == 1
    assert collector.kept(plan) == []


@pytest.mark.parametrize("inside", [True, False])
def test_what_is_shown_of_the_chances_is_exact(collector, visit, inside):
    """Draw the first and the last of all draws: one says an index of the cap, one says another."""
    plan = design(epsilon=1.0)
    randomizer = plan.parameters.randomizer
    draw = 0 if inside else randomizer.total - 1
    given = f"""() => {{
      const draw = crypto.getRandomValues.bind(crypto);
      crypto.getRandomValues = (array) => {{
        draw(array);
        if (array instanceof Uint32Array) array.set([{(draw >> 32) << 11}, {draw & 0xFFFFFFFF}]);
        return array;
      }};
    }}"""
    page = visit(collector.put(plan) + "/participate", before=given)
    page.get_by_role("group", name="Size").get_by_label("M", exact=True).check()
    make_report(page)
    factor = f"{randomizer.odds / 2**24:.3g}"
    assert float(factor) <= round(math.e, 2)
    assert page.locator("#least").inner_text() == (f"1/{factor}" if inside else "1")
    assert page.locator("#most").inner_text() == ("1" if inside else factor)
    once = randomizer.total / (randomizer.odds if inside else 2**24)
    assert f"once in {once:,.3g} times" in page.locator(".doubt").inner_text()
    words = page.locator("#crowd-words").inner_text()
    same, others = map(int, re.findall(r"(\d+) make", words))
    assert same + others == 200
    assert min(same, others) > 0
    assert ("less often" if inside else "more often") in words


def test_the_one_chance_is_protected(collector, visit):
    """A number out of range draws nothing, by Enter or by click; answers can be changed until the draw."""
    plan = design([Number("age", 17, 90, unit="years"), Flag("member"), Cycle("hour", 24, unit="h")])
    page = visit(collector.put(plan) + "/participate", before=RECORD_COINS)
    age, wrong = page.get_by_label("Age", exact=True), page.locator("#question-0-wrong")
    age.press_sequentially("3")
    assert wrong.inner_text() == ""  # it may become 30
    age.press_sequentially("00")
    assert "from 17 to 90" in wrong.inner_text()  # while typing
    for act in (lambda: age.press("Enter"), page.get_by_role("button", name="Check my answers").click):
        act()
        assert page.evaluate("() => [document.activeElement.id, window.coins.length]") == ["question-0", 0]
        assert page.locator("#review").count() == 0
    age.fill("3")
    age.press("Tab")
    assert "from 17 to 90" in wrong.inner_text()
    age.fill("30")
    assert wrong.inner_text() == ""
    page.get_by_role("button", name="Check my answers").click()
    assert page.locator(".review dd").all_inner_texts() == ["30 years", "no answer", "no answer"]
    assert "left out 2 of 3" in page.locator("#review").inner_text()
    page.get_by_role("button", name="Change my answers").click()
    assert age.input_value() == "30"
    page.get_by_label("Yes").check()
    page.get_by_role("button", name="Check my answers").click()
    assert page.locator(".review dd").all_inner_texts() == ["30 years", "Yes", "no answer"]
    assert page.evaluate("() => window.coins.length") == 0
    page.click("#draw")
    page.wait_for_selector("#report")
    assert page.evaluate("() => window.coins.length") >= 2


def test_what_became_of_a_report_is_known_after_every_reload(collector, visit):
    """Drawn, sent, withdrawn, each as it is; sent by a tab that slept, a withdrawn report stays withdrawn."""
    plan = design()
    address = collector.put(plan) + "/participate"
    page = visit(address)
    page.context.set_offline(True)  # all that is needed was loaded
    make_report(page)
    report = shown_bytes(page)
    page.context.set_offline(False)
    page.close()  # before anything was sent
    page, asleep = visit(address, ready="#drawn"), visit(address, ready="#drawn")
    assert "not sent yet" in page.locator("h2").first.inner_text()
    assert shown_bytes(page) == report
    page.get_by_role("button", name="Send my report").click()
    for again in range(2):
        page.wait_for_selector("#sent")
        assert "was sent, and counts" in page.locator("h2").first.inner_text()
        if again:
            page.get_by_role("button", name="Send it again").click()
        else:
            page.reload()
    assert collector.kept(plan) == [report]
    page.get_by_role("button", name="Withdraw my report").click()
    assert page.evaluate("() => document.activeElement.id") == "withdraw-sure"
    assert "never counts again" in page.locator("#state").inner_text()
    page.get_by_role("button", name="Keep it").click()
    assert len(collector.kept(plan)) == 1
    page.get_by_role("button", name="Withdraw my report").click()
    page.get_by_role("button", name="Yes, withdraw it for good").click()
    page.wait_for_selector("#withdrawn")
    asleep.click("#send")
    for each in (page, asleep):
        each.wait_for_selector("#withdrawn")
        each.reload()
        each.wait_for_selector("#withdrawn")
        assert each.locator("#flow button").count() == 0
    assert collector.kept(plan) == []


MAKE_AND_SEND = """async ([bundle, id, answers]) => {
  const coterie = await import(bundle);
  const plan = coterie.readPlan(await (await fetch(`../${id}`)).text(), id);
  const made = [];
  for (const answer of answers) {
    window.coins = [];
    const report = coterie.encode(plan, answer);
    const headers = {"content-type": "application/vnd.coterie.reports"};
    const answered = await fetch("reports", {method: "POST", headers, body: report});
    if ((await answered.json()).failures.length) throw new Error("refused");
    made.push({report: Array.from(report), coins: window.coins});
  }
  return made;
}"""


def test_300_reports_made_in_chromium_land_in_the_store(collector, visit, python):
    """Each is what Python makes of the same id and coins, and the store holds those and no others."""
    plan = design()
    rng = np.random.default_rng(4)
    answers = [
        {
            "hour": float(rng.uniform(0, 24)),
            "weekday": int(rng.integers(7)),
            "minutes": float(rng.uniform(0, 150)),
            "device": ["phone", "tablet", 3, "other", None][i % 5],
            "town": f"town {i % 21}",
            "member": [True, False, None][i % 3],
            "size": ["S", "M", "L", None][i % 4],
        }
        for i in range(REPORTS)
    ]
    page = visit(collector.put(plan) + "/participate", before=RECORD_COINS)
    bundle = f"/static/{assets().name}/coterie.js"
    made = page.evaluate(MAKE_AND_SEND, [bundle, plan.id, answers])
    ids = [one["coins"][0] for one in made]
    draws = [draw_of(one["coins"][1:], plan.parameters.randomizer.total) for one in made]
    expected = python(plan, plan.features.points(answers), ids, draws)
    assert [bytes(one["report"]).hex() for one in made] == expected
    assert [row.hex() for row in collector.kept(plan)] == sorted(expected)


def test_an_invitation_comes_in_the_fragment(collector, visit):
    plan = design(ids="token")
    address = collector.put(plan) + "/participate"
    (token,) = collector.operator.invite(plan.id, 1)
    text = token if isinstance(token, str) else token.hex()
    followed = address.replace("/plans/", "/studies/")  # leads to the plan that is open, the fragment with it
    page = visit(f"{followed}#{text}")
    assert page.url == address  # it is as good as a key, and does not stay in the bar
    assert "29 bytes" in page.locator(".lead").inner_text()
    assert page.get_by_label("Your invitation").input_value() == text
    page.get_by_label("Your invitation").fill("no invitation")
    page.get_by_role("button", name="Check my answers").click()
    assert page.evaluate("() => document.activeElement.id") == "token"
    assert "32 letters" in page.locator("#token-wrong").inner_text()
    page.get_by_label("Your invitation").fill(f"{address}#{text}")  # the whole link will do
    make_report(page)
    page.get_by_role("button", name="Send these 29 bytes").click()
    page.wait_for_selector("#sent")
    assert len(collector.kept(plan)) == 1
    wave = dataclasses.replace(plan, study=plan.id, after=(plan.id,))
    collector.collector.results.waves.add(plan.id, Part(wave))
    page = visit(f"{followed}#{text}")
    assert page.url == address.replace(plan.id, wave.id)
    assert "You took part in this study already" in page.locator("#flow").inner_text()


# ---------------------------------------------------------------- kind refusals


def test_a_window_is_kept(collector, visit, clock):
    day = 86_400
    opens = (int(clock.now) // day + 1) * day
    plan = design(collection=Collection(opens=opens, closes=opens + day, minimum=1))
    address = collector.put(plan) + "/participate"
    assert "not open yet" in visit(address).locator("#flow").inner_text()
    clock.now = opens + 1
    page = visit(address)
    make_report(page)
    clock.now = opens + day
    page.click("#send")
    for _ in range(2):
        page.wait_for_selector("#refused")
        assert "the report came too late" in page.locator("#refused").inner_text()
        assert page.locator("#flow button").count() == 0
        page.reload()
    assert collector.kept(plan) == []


SHEET = """
pages = [["member", "size"], ["device", "hour", "weekday", "minutes", "town", "angle"]]
[languages.en]
title = "<script>pwned=1</script> Listening"
purpose = "To plan the night."
who = "Radio Example"
contact = "study@radio.example"
consent = "Taking part is voluntary.\\n\\n<img src=x onerror=pwned=1>"
questions.member.ask = "Do you pay for it?"
[languages.de]
title = "Radio hören"
purpose = "Für das Nachtprogramm."
who = "Radio Beispiel"
contact = "studie@radio.example"
consent = "Freiwillig."
skip = "Keine Angabe"
questions.member.ask = "Zahlen Sie dafür?"
"""


def test_a_sheet_says_who_asks_in_the_browsers_language(collector, chromium, visit, tmp_path, axe):
    plan = design(ids="token")
    address = collector.put(plan) + "/participate"
    (tmp_path / "sheet.toml").write_text(SHEET, encoding="utf-8")
    collector.operator.put_sheet(plan, draft_sheet(tmp_path / "sheet.toml", plan))
    (token,) = collector.operator.invite(plan.id, 1)
    with chromium.new_context(locale="de-AT") as german:
        page = german.new_page()
        page.goto(address + "#" + token.hex())
        assert page.locator("h1").inner_text() == "Radio hören"
        group = page.get_by_role("group", name="Zahlen Sie dafür?")
        group.wait_for()
        assert group.get_by_label("Keine Angabe").is_checked()
        assert group.locator("legend bdi").get_attribute("lang") == "de"
        page.get_by_role("link", name="English").click()
        page.get_by_role("group", name="Do you pay for it?").wait_for()
        assert page.get_by_label("Your invitation").input_value() == token.hex()  # it came along
        assert token.hex() not in page.url
    page = visit(address + "#" + token.hex())
    assert page.locator("h1").inner_text() == "<script>pwned=1</script> Listening"
    assert "<img src=x onerror=pwned=1>" in page.locator(".about").inner_text()
    assert axe(page) == []
    page.get_by_role("group", name="Do you pay for it?").get_by_label("Yes").check()
    assert not page.get_by_label("Town").is_visible()
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Check my answers").click()
    assert page.locator(".review dt").first.inner_text() == "Do you pay for it?"
    page.click("#draw")
    assert "agree to take part" in page.locator("#state").inner_text()  # nothing is drawn before
    assert page.evaluate("async () => (await indexedDB.databases()).length") <= 1
    page.check("#agree")
    page.click("#draw")
    page.get_by_role("button", name="Send these 29 bytes").click()
    page.wait_for_selector("#sent")
    assert page.evaluate("() => [window.pwned, document.scripts.length]") == [None, 1]
    assert len(collector.kept(plan)) == 1


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan.design(3, 2, 1.0, 20_000), "This study has no form"),
        (design([Embedding("text", 3, 1.0)]), "cannot be answered with a form"),
        (design(epsilon=5.0), "Your browser declines"),
        (Plan.design(2, 2, 4.0, 20_000, protocol="net-tree"), "This study needs an app"),
    ],
    ids=["no features", "embeddings", "too much", "another protocol"],
)
def test_what_cannot_be_answered_is_refused_kindly(collector, visit, plan, words):
    page = visit(collector.put(plan) + "/participate")
    assert words in page.locator("#flow").inner_text()
    assert page.locator("form").count() == 0
    assert "othing" in page.locator("#flow").inner_text()  # nothing was, or can be, sent
    assert page.evaluate(FAULTS) == []


def test_embeddings_are_left_out_with_a_word(collector, visit):
    plan = design([Embedding("text", 3, 1.0), Flag("member")])
    page = visit(collector.put(plan) + "/participate")
    assert "Not asked here: text" in page.locator(".note").inner_text()
    page.get_by_label("Yes").check()
    make_report(page)
    page.click("#send")
    page.wait_for_selector("#sent")
    assert len(collector.kept(plan)) == 1


def test_a_server_that_is_away_loses_nothing(collector, context):
    plan = design()
    page = context.new_page()
    page.goto(collector.put(plan) + "/participate")
    make_report(page)
    page.route("**/reports", lambda route: route.abort())
    page.click("#send")
    page.get_by_text("The server could not be reached").wait_for()
    page.unroute("**/reports")
    page.route("**/reports", lambda route: route.fulfill(status=503, body="{}"))
    page.click("#send")
    page.get_by_text("The server is busy").wait_for()
    page.unroute("**/reports")
    page.click("#send")
    page.wait_for_selector("#sent")
    assert len(collector.kept(plan)) == 1


def test_without_scripts_the_study_can_be_read(collector, chromium):
    plan = design()
    address = collector.put(plan)
    with chromium.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(address + "/participate")
        text = page.locator("body").inner_text()
        assert "This page needs JavaScript" in text
        assert "when you mostly listen" in text
        page.goto(address + "/study")
        assert "0 reports so far" in page.locator("h1").inner_text()
        assert "as planned" in page.locator(".forecast").inner_text()


# ---------------------------------------------------------------- what a page cannot do


def test_text_of_a_plan_never_becomes_markup(collector, visit):
    plan = design(evil_schema())
    address = collector.put(plan)
    page = visit(address + "/participate")
    text = page.locator("#flow").inner_text()
    assert "<script>pwned=1</script>" in text
    assert EVIL in text
    assert ODD.split()[-1] in text
    page.get_by_role("group", name="__proto__").get_by_label("Yes").check()
    page.get_by_role("group", name="Constructor").get_by_label("]]>").check()
    make_report(page)
    page.click("#send")
    page.wait_for_selector("#sent")
    assert page.evaluate("() => [window.pwned, ({}).polluted, document.scripts.length]") == [None, None, 1]
    assert len(collector.kept(plan)) == 1
    study = visit(address + "/study", ready="h1")
    assert "<script>pwned=1</script>" in study.locator(".lead").inner_text()
    assert study.evaluate("() => [window.pwned, document.scripts.length]") == [None, 1]
    assert study.evaluate(FAULTS) == []


def test_the_policy_holds_in_the_browser(collector, context):
    """Try what a script that got in would try: everything is blocked, in Chromium itself."""
    address = collector.put(design())
    page = context.new_page()
    page.goto(address + "/participate")
    page.wait_for_selector("form")
    blocked = page.evaluate(
        """async (elsewhere) => {
          const seen = [];
          const note = (event) => seen.push(event.effectiveDirective);
          document.addEventListener("securitypolicyviolation", note);
          const attempt = async (work) => { try { await work(); } catch {} };
          const script = document.createElement("script");
          await attempt(() => { script.append("window.pwned = 1"); document.body.append(script); });
          await attempt(() => { document.body.innerHTML += "<b>x</b>"; });
          await attempt(() => fetch(elsewhere));
          const create = (name) => document.createElement(name);
          const make = (name, what) => document.body.append(Object.assign(create(name), what));
          await attempt(() => make("img", {src: `${elsewhere}/x.png`}));
          await attempt(() => document.body.setAttribute("style", "color: red"));
          await attempt(() => make("iframe", {src: elsewhere}));
          await attempt(() => navigator.sendBeacon(elsewhere, "x"));
          const form = Object.assign(document.createElement("form"), {action: elsewhere, method: "post"});
          document.body.append(form);
          await attempt(() => form.submit());
          await attempt(() => eval("1"));
          await new Promise((done) => setTimeout(done, 300));
          return {seen, pwned: window.pwned};
        }""",
        collector.url,  # 127.0.0.1 is another origin than localhost
    )
    assert blocked["pwned"] is None
    assert {
        "require-trusted-types-for",
        "connect-src",
        "img-src",
        "style-src-attr",
        "frame-src",
        "form-action",
    } <= set(blocked["seen"])


def test_the_hash_that_is_published_is_the_bundles(collector, visit):
    page = visit(collector.put(design()) + "/participate")
    address = page.get_by_role("link", name="the client").get_attribute("href")
    fetched = "async (address) => [...new Uint8Array(await (await fetch(address)).arrayBuffer())]"
    served = page.evaluate(fetched, address)
    assert page.locator("#bundle-hash").inner_text() == hashlib.sha256(bytes(served)).hexdigest()


def test_another_bundle_is_not_run(collector, context):
    """See that the browser holds the bundle to the page's hash: one that was changed is refused."""
    address = collector.put(design()) + "/participate"
    page = context.new_page()
    changed = assets().files["coterie.js"].data + b"\nwindow.pwned = 1;"
    page.route("**/coterie.js", lambda route: route.fulfill(body=changed, content_type="text/javascript"))
    page.goto(address)
    page.wait_for_timeout(500)
    assert page.evaluate("() => window.pwned") is None
    assert page.locator("form").count() == 0


# ---------------------------------------------------------------- the study's page


def sign_in(page, token=TOKEN):
    page.get_by_label("The operator’s token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def test_a_study_fills_up_live_and_tells_its_groups(collector, visit, tmp_path):
    plan = Plan.design(
        features=[Number("age", 0, 100, unit="years"), Flag("member")],
        clusters=2,
        epsilon=4.0,
        expected_users=20_000,
    )
    console = visit(collector.url.replace("127.0.0.1", "localhost"), ready="#token")
    sign_in(console)
    console.get_by_text("There is no study yet").wait_for()
    plan.save(tmp_path / "plan.json")
    console.set_input_files("#plan", tmp_path / "plan.json")
    console.get_by_role("button", name="Open it").click()
    console.get_by_role("heading", name="age, member").wait_for()
    address = collector.put(plan) + "/study"
    page = visit("about:blank", ready=None)
    page.clock.install()
    page.goto(address)
    assert page.locator("h1").inner_text() == "0 reports so far"
    reports = reports_of_features(plan, 12_345)
    assert post(collector.url, plan, reports)[0] == 200
    collector.store.compact(plan.id)
    page.clock.fast_forward(12_000)
    page.get_by_role("heading", name="12,000 reports so far").wait_for()
    assert page.locator('[data-live="share"]').inner_text() == "60%"
    expected = plan.expected(12_000, kind="real")
    assert page.locator('[data-live="now-1"]').inner_text().startswith(f"{expected.recovered:.0%} (")
    assert page.locator("progress").evaluate("(bar) => bar.value") == 12_000
    assert page.title() == "12,000 reports so far: coterie"
    live = page.locator("table.forecast").inner_text()
    page.reload()
    assert page.locator("table.forecast").inner_text() == live  # script and server write the same
    console.click("#refresh")
    console.get_by_text("about 12,000 of 20,000 people").wait_for()
    console.get_by_role("button", name="Close: age, member").click()
    console.click("#dialog-no")
    assert collector.store.study(plan.id).state == "open"
    console.get_by_role("button", name="Close: age, member").click()
    console.click("#dialog-yes")
    console.get_by_role("button", name="Decode: age, member").click()
    console.get_by_text("Publish its page.").wait_for(timeout=120_000)
    result = collector.operator.result(plan.id)
    page.clock.fast_forward(12_000)
    page.get_by_role("heading", name="Two groups among 12,345 people").wait_for()
    words = page.locator("main").inner_text()
    assert "member: mostly yes" in words.lower()
    assert len(page.locator("article.group").all()) == 3
    for group in result["groups"]:
        held = f"({100 * group['low']:.0f} to {100 * group['high']:.0f})"
        assert words.count(f"{group['share']:.0%} {held}") >= 2  # beside the map and on its card
    value, low, high = (result["explained"][name] for name in ("value", "low", "high"))
    told = f"The groups explain {value:.0%} ({100 * low:.0f} to {100 * high:.0f}) of how people differ."
    assert told in words
    assert page.locator("svg.choices circle.chosen title").text_content().startswith("2 groups: ")
    assert page.evaluate(FAULTS) == []

    console.get_by_role("button", name="Next wave: age, member").click()
    assert console.locator("#dialog-number").input_value() == "20000"
    console.fill("#dialog-number", "5000")
    console.check("#dialog-confirm")
    console.click("#dialog-yes")
    console.get_by_text("The next wave is open.").wait_for(timeout=120_000)
    console.get_by_text("about 0 of 5,000 people").wait_for()
    assert console.get_by_role("button", name="Next wave").count() == 0  # a wave is open
    first, second = collector.operator.study(plan.id)["plans"]
    assert (first["plan_id"], second["confirms"], second["state"]) == (plan.id, True, "open")


def test_plans_with_labels_are_opened_side_by_side(collector, visit, tmp_path, axe):
    north = design()
    south = design(study=north.id, seed=1)
    console = visit(collector.url.replace("127.0.0.1", "localhost"), ready="#token")
    sign_in(console)
    for label, plan in (("north", north), ("south", south)):
        plan.save(tmp_path / f"{label}.json")
        console.set_input_files("#plan", tmp_path / f"{label}.json")
        console.get_by_text("One of several, side by side").click()
        console.fill("#label", label)
        console.get_by_role("button", name="Open it").click()
        console.get_by_text(f"{plan.id[:12]} · {label}").wait_for()
        console.get_by_text("One of several, side by side").click()
    assert axe(console) == []
    plans = collector.operator.study(north.id)["plans"]
    assert [(each["plan_id"], each["label"]) for each in plans] == [(north.id, "north"), (south.id, "south")]
    assert [each["label"] for each in collector.operator.studies()] in (
        ["north", "south"],
        ["south", "north"],
    )


def reports_of_features(plan, people):
    young = np.arange(people) % 2 == 0
    points = plan.features.points({"age": np.where(young, 20.0, 75.0), "member": young})
    return encoder_of(plan).encode_counting(points, None, SimulationCoins(0))[0].tobytes()


# ---------------------------------------------------------------- for everybody's eyes and ears


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_every_state_can_be_read_and_used(collector, chromium, axe, scheme, width):
    plan = design(collection=Collection(minimum=1))
    address = collector.put(plan)
    size = {"width": width, "height": 800}
    with chromium.new_context(color_scheme=scheme, viewport=size, reduced_motion="reduce") as context:
        page = context.new_page()

        def check():
            assert page.evaluate(FAULTS) == []
            if (scheme == "dark") == (width == 360):  # colors and widths are each seen once
                assert axe(page) == []

        page.goto(address + "/participate")
        page.wait_for_selector("form")
        page.get_by_label("Minutes").fill("4000")
        check()
        page.get_by_label("Minutes").fill("4")
        page.get_by_role("button", name="Check my answers").click()
        page.wait_for_selector("#review")
        check()
        page.click("#draw")
        page.wait_for_selector("#report")
        check()
        page.click("#send")
        page.wait_for_selector("#sent")
        page.click("#withdraw")
        check()
        page.goto(address + "/study")
        check()
        page.goto(collector.url)
        sign_in(page, "not the operator's token")
        page.get_by_text("This is not the operator’s token").wait_for()
        check()
        collector.put(design(ids="token", seed=2))
        sign_in(page)
        page.get_by_role("button", name="Invite").click()
        check()
        page.click("#dialog-yes")
        page.wait_for_selector("#dialog-links:visible")
        links = page.input_value("#links").split()
        assert len(set(links)) == 10
        assert all(re.fullmatch(r"http://127\S+/participate#[0-9a-f]{32}", link) for link in links)
        page.click("#dialog-no")
        check()
        page.reload()
        page.wait_for_selector("article.study")
        page.click("#sign-out")
        assert page.evaluate("() => sessionStorage.length") == 0
        assert page.locator("article").count() == 0
        page.goto(address + "/study")
        page.emulate_media(media="print")
        assert not page.locator(".skip").is_visible()
        ink, scheme_there = page.evaluate(
            "() => [document.body, document.documentElement].map((each, i) => "
            "getComputedStyle(each)[['color', 'colorScheme'][i]])"
        )
        assert (ink, scheme_there) == ("rgb(28, 35, 33)", "light")  # paper is light


@pytest.fixture(scope="module")
def from_disk():
    return {
        "good": render(simulate(users=20_000, epsilon=4.0, seed=1, stage=silently)),
        "bad": render(simulate(users=300, epsilon=1.0, seed=1, stage=silently)),
        "own": result_page(result_of_two((0.05, 0.05))),
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_that_open_from_disk_can_be_read_and_run_nothing(chromium, tmp_path, from_disk, scheme, width):
    size = {"width": width, "height": 800}
    with chromium.new_context(color_scheme=scheme, viewport=size) as context:
        for name, text in from_disk.items():
            file = tmp_path / f"{name}.html"
            file.write_text(text, encoding="utf-8")
            page = context.new_page()
            page.goto(file.as_uri())
            assert page.evaluate(FAULTS) == [], name
            widest = "() => getComputedStyle(document.querySelector('main')).maxWidth"
            assert page.evaluate(widest) == "1080px"  # the sheet is the one that the policy names
            page.evaluate("""() => {
                const script = document.createElement("script");
                script.textContent = "window.ran = 1";
                document.body.append(script);
            }""")
            assert page.evaluate("() => window.ran") is None


def test_the_focus_can_be_seen(collector, visit):
    page = visit(collector.put(design()) + "/participate")
    for label in ("Hour", "Minutes", "Town"):
        tab_to(page, label)
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outline")
        assert "3px" in outline
    page.get_by_role("group", name="Member").get_by_label("Prefer not to say").focus()
    page.keyboard.press("ArrowDown")
    chosen = page.evaluate("() => getComputedStyle(document.activeElement.closest('.choice')).outline")
    assert "3px" in chosen


def test_the_checks_of_this_page_see_what_is_wrong(collector, visit, axe):
    page = visit(collector.put(design()) + "/participate")
    for harm, fault in [
        ("document.querySelector('.lead').style.color = '#bbb'", "contrast"),
        ("document.querySelector('label[for=question-2]').remove()", "no label"),
        ("document.querySelector('[type=submit]').style = 'min-height: 0; padding: 0'", "small target"),
        ("document.documentElement.lang = ''", "no language"),
        ("document.querySelector('main').style.minWidth = '3000px'", "scrolls sideways"),
        ("document.querySelector('h1').id = 'flow'", "an id twice"),
        ("document.querySelector('h1').animate([{opacity: 0}, {opacity: 1}], 9999)", "moves"),
    ]:
        page.reload()
        page.wait_for_selector("form")
        page.evaluate(f"() => {{ {harm} }}")
        assert any(fault in one for one in page.evaluate(FAULTS)), fault
    page.evaluate("() => document.querySelector('label[for=question-2]').remove()")
    assert any(one.startswith("label: ") for one in axe(page))


def test_reports_of_points_have_no_page_but_a_collector(collector, visit):
    """See that the page of a plan of points still says how the study is going."""
    plan = Plan.design(3, 2, 4.0, 20_000)
    address = collector.put(plan)
    post(collector.url, plan, reports_of(plan, 50).tobytes())
    collector.store.compact(plan.id)
    page = visit(address + "/study", ready="h1")
    assert page.locator("h1").inner_text() == "50 reports so far"
