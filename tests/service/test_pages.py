"""The pages over HTTP: what headers say, what is escaped, what is published."""

import hashlib
import html.parser
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from coterie.aggregate import Aggregate
from coterie.centers import Population, Result, decode
from coterie.centers.result import Interval
from coterie.coins import SimulationCoins
from coterie.errors import ManifestError
from coterie.features import Category, Cycle, Embedding, Flag, Number, Ordinal, Schema
from coterie.plan import Plan
from coterie.plan.collection import Collection
from coterie.protocols import encoder_of
from coterie.remote import CollectorError, RemoteCollector
from coterie.service.decoder import result_document
from coterie.service.pages.assets import assets
from coterie.service.pages.routes import PAGES, SHUFFLER_PAGES
from coterie.service.pages.views import participate_page, study_page
from coterie.service.shuffler import Shuffler
from coterie.service.status import status_document
from coterie.service.studies import REASONS, Known
from coterie.sheet import draft_sheet
from coterie.store import Counts, Study, StudyState
from coterie.wire.signing import public_key
from tests.service.conftest import (
    KEY,
    OPERATOR,
    TOKEN,
    AtOnce,
    ask,
    post,
    problem,
    reports_of,
    serving,
    small_plan,
)

EVIL = '"><script>window.pwned=1</script><img src=x onerror=pwned=1>'
ODD = "\u202eevil\u202c \u0000".replace("\u0000", "") + "\u200d\ufeff‮z̷͓̈́̀ Ünïcode"


def evil_schema():
    """Features whose every text tries to be markup."""
    return Schema(
        (
            Number("<script>pwned=1</script>", 0, 100, unit="</b><script>pwned=1</script>", description=EVIL),
            Category("${plan_id} $plan_id {name} {0}", ("<b onclick=pwned=1>x</b>", EVIL, ODD, 7)),
            Flag("__proto__", description="' onmouseover='pwned=1"),
            Cycle(ODD, 24, unit="h", description="&lt;script&gt; &amp;"),
            Ordinal("constructor", ("<i>", "</i>", "]]>"), unit="<!--"),
            Cycle("</title></head>", 7, description="0 is Monday <script>pwned=1</script>"),
        )
    )


class Reader(html.parser.HTMLParser):
    """Collects tags, attributes and text; checks that what is opened is closed."""

    VOID = ("meta", "link", "path", "rect", "br", "img", "input")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:  # circles have titles, or come as the other event
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.text += text


def check_inert(text):
    """See that a page has no script, style or handler in it and loads from this server alone."""
    reader = Reader(text)
    for tag, attributes in reader.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcdoc")]
        for address in (attributes.get("src"), attributes.get("href")):
            own = r"\.\./|static/|#|(study|participate|report|result|table|manifest|key|\w+\.json)$"
            assert address is None or re.match(own, address)
        if tag == "script":
            assert re.match(r"(\.\./\.\./)?static/", attributes["src"])
            assert attributes["integrity"].startswith("sha256-")
        assert tag not in ("style", "img", "iframe", "object", "base")
        assert tag != "form" or not {"action", "method"} & attributes.keys()  # the console's script reads it
    assert [tag for tag, _ in reader.tags].count("script") == 1
    assert re.search(r"<script[^>]*></script>", text)
    return reader


@pytest.fixture
def pages(tmp_path, plan):
    with serving(tmp_path, routes=PAGES, status_seconds=0) as running:
        running.operator = RemoteCollector(running.url, token=TOKEN, attempts=1)
        running.operator.put_plan(plan)
        yield running
        running.operator.disconnect()


def test_a_browser_may_do_next_to_nothing_with_a_page(pages, plan):
    for path in ("/", f"/plans/{plan.id}/participate", f"/plans/{plan.id}/study"):
        status, headers, body = ask(pages.url, "GET", path)
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        allowed = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert allowed == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "'self'",
            "connect-src": "'self'",
            "base-uri": "'none'",
            "form-action": "'none'",
            "frame-ancestors": "'none'",
            "require-trusted-types-for": "'script'",
            "trusted-types": "'none'",
        }
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert "set-cookie" not in headers
        check_inert(body.decode())


def test_files_are_kept_for_good_under_their_hash(pages, plan):
    body = ask(pages.url, "GET", f"/plans/{plan.id}/participate")[2].decode()
    loaded = re.findall(r'(?:src|href)="\.\./\.\.(/static/[^"]+)"(?: integrity="([^"]+)")?', body)
    others = {"console.js", "study.js", "mixing.js"}
    assert {path.rpartition("/")[2] for path, _ in loaded} == set(assets().files) - others
    for path, integrity in loaded:
        status, headers, data = ask(pages.url, "GET", path)
        assert status == 200
        assert headers["cache-control"] == "public, max-age=31536000, immutable"
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers
        digest = hashlib.sha256(data)
        if integrity:
            assert integrity == assets().integrity(path.rpartition("/")[2])
        if path.endswith("coterie.js"):
            assert f'id="bundle-hash">{digest.hexdigest()}<' in body
    other = f"/static/{'0' * 16}/coterie.js"
    problem(ask(pages.url, "GET", other), 404, "not-found")
    problem(ask(pages.url, "GET", f"/static/{assets().name}/..%2fshell.py"), 404, "not-found")


def test_pages_of_no_plan(pages):
    for name in ("participate", "study"):
        problem(ask(pages.url, "GET", f"/plans/{'0' * 64}/{name}"), 404, "unknown-plan")
        problem(ask(pages.url, "GET", f"/plans/<script>/{name}"), 404, "unknown-plan")


def check_pinned(pages, plan):
    """Who pins the collector's key takes nothing that another signed, or that its manifest does not name."""

    class Changing(RemoteCollector):
        def _ask(self, method, path, *more):
            status, data = super()._ask(method, path, *more)
            return status, data + b" " if path.endswith(("result", "table")) else data

    key = pages.operator.public_key()
    assert key == public_key(KEY).hex()
    with RemoteCollector(pages.url, key=key) as honest, RemoteCollector(pages.url, key="0" * 64) as stranger:
        assert honest.result_bytes(plan.id) == pages.operator.result_bytes(plan.id)
        assert honest.table(plan.id) == pages.operator.table(plan.id)
        for ask_for in (stranger.manifest, stranger.result, stranger.table):
            with pytest.raises(ManifestError, match="signed by"):
                ask_for(plan.id)
    with Changing(pages.url, key=key) as changing:
        for ask_for in (changing.result, changing.table):
            with pytest.raises(ManifestError, match="this is another"):
                ask_for(plan.id)


def test_a_study_without_features_tells_its_centers(pages, plan, tmp_path):
    reports = reports_of(plan, 4000)
    assert post(pages.url, plan, reports.tobytes())[0] == 200
    pages.store.compact(plan.id)
    page = check_inert(ask(pages.url, "GET", f"/plans/{plan.id}/study")[2].decode())
    assert "4,000 reports so far" in page.text
    assert "20% of the 20,000 people" in " ".join(page.text.split())
    post(pages.url, plan, b"\xff" * (20 * plan.report_width))  # no client sends such an index
    assert b'data-live="rejected-malformed">20<' in ask(pages.url, "GET", f"/plans/{plan.id}/study")[2]
    pages.operator.close(plan.id)
    page = Reader(ask(pages.url, "GET", f"/plans/{plan.id}/study")[2].decode())
    assert "Closed, not decoded yet" in page.text
    problem(ask(pages.url, "GET", f"/plans/{plan.id}/report"), 404, "not-decoded")
    pages.operator.decode(plan.id)
    page = check_inert(ask(pages.url, "GET", f"/plans/{plan.id}/study")[2].decode())
    assert "Two groups among 4,000 people" in page.text
    assert public_key(KEY).hex() in page.text
    check_pinned(pages, plan)
    assert "The plan declares no features" in page.text
    assert re.search(r"The groups explain \d+% \(\d+ to \d+\) of how people differ\.", page.text)
    assert "How many groups" in page.text
    assert "everybody" in page.text
    check_report(pages, plan, tmp_path)


def check_report(pages, plan, folder):
    """What is kept of a study says the same as its page; a sheet that comes later is told in it, as text."""
    found = [ask(pages.url, "GET", f"/plans/{plan.id}/{name}") for name in ("report", "report.json")]
    assert all("attachment" in headers["content-disposition"] for _, headers, _ in found)
    document = json.loads(found[1][2])
    assert document["result"] == json.loads(ask(pages.url, "GET", f"/plans/{plan.id}/result")[2])
    assert document["waves"] == [{"plan_id": plan.id, "people": 4000}]
    assert document["honest"]
    assert document["sheet"] is None
    assert f"--key {public_key(KEY).hex()}" in found[0][2].decode()
    said = {"title": EVIL, "purpose": "Why not.", "who": EVIL, "contact": ODD, "consent": EVIL}
    (folder / "sheet.json").write_text(json.dumps({"languages": {"en": said}}), encoding="utf-8")
    pages.operator.put_sheet(plan, draft_sheet(folder / "sheet.json", plan))
    text = ask(pages.url, "GET", f"/plans/{plan.id}/report")[2].decode()
    assert EVIL in Reader(text).text
    assert "Why not." in text
    assert "<script" not in text


def known(plan):
    facts = {"plan": plan, "collection": plan.collection or Collection(), "width": plan.upload_width}
    nothing = {"received": 0, "withdrawn": 0, "document": b"", "most": 1 << 36}
    return Known(**facts, **nothing, rejected=dict.fromkeys(REASONS, 0))


def status_of(plan, reports, **changes):
    study_now = Study(plan, StudyState.OPEN, Counts(received=reports, counted=reports))
    document = status_document(known(plan), study_now, 0.0, AtOnce(3600), decoded=False, decoding=False)
    return json.loads(json.dumps({**document, **changes}))


@pytest.fixture(scope="module")
def evil():
    """A study of two groups whose every word is markup, decoded."""
    plan = Plan.design(features=evil_schema(), clusters=2, epsilon=4.0, expected_users=20_000)
    number, category, flag, cycle, ordinal, day = (each.name for each in plan.features.features)
    half = 10_000
    people = {
        number: [10.0] * half + [90.0] * half,
        category: [EVIL] * half + [ODD] * half,
        flag: [True] * half + [False] * half,
        cycle: [6.0] * half + [18.0] * half,
        ordinal: ["<i>"] * half + ["]]>"] * half,
        day: [1.0] * half + [5.5] * half,
    }
    reports = encoder_of(plan).encode_counting(plan.features.points(people), None, SimulationCoins(0))[0]
    table = Aggregate(plan)
    table.add(reports)
    return plan, result_document(decode(table, random_state=0))


def decoded_page(plan, result):
    status = status_of(plan, 20_000, decoded=True)
    return study_page(plan, Collection(), status, result)


def test_text_of_a_plan_is_text_on_every_page(evil):
    plan, result = evil
    decoded = decoded_page(plan, result)
    assert "Two groups among 20,000 people" in decoded
    for text in (participate_page(plan), study_page(plan, Collection(), status_of(plan, 10)), decoded):
        reader = check_inert(text)
        for words in ("<script>pwned=1</script>", "${plan_id} $plan_id {name} {0}", "</title></head>"):
            assert words in reader.text
        outside = re.sub(r"<bdi>.*?</bdi>|aria-label=\"[^\"]*\"", "", text)
        assert "pwned" not in re.sub("&lt;.*?&gt;|&#34;|&#39;", "", outside)
    assert "<b onclick=pwned=1>x</b>" in Reader(decoded).text
    assert EVIL in Reader(decoded).text


def changed(result, **changes):
    return json.dumps({**json.loads(result), **changes}).encode()


def test_what_could_not_be_found_is_said_first(evil):
    plan, result = evil
    rough = changed(result, errors=[plan.radius, plan.radius / 10], notes=["Some <caution> of the decoder."])
    page = decoded_page(plan, rough)
    assert "<h1>One of two groups told among 20,000 people</h1>" in page
    first = '<div class="note" role="note"><p>Group A stands clear of the noise, but is known too roughly'
    assert page.index("<h1>") < page.index(first) < page.index("<figure>")
    assert "Some &lt;caution&gt; of the decoder." in page
    assert '<span class="letter">B</span>' in page  # by its own name, though A is not told
    assert '<span class="letter">A</span>' not in page


def test_where_no_groups_are_told_apart_the_page_shows_one(evil):
    plan, result = evil
    document = json.loads(result)
    alone = [{**group, "clear": False} for group in document["groups"]]
    nothing = {"low": 0.0, "value": 0.0, "high": 0.0}
    note = "The reports tell no groups apart: what is shown is the mean of everybody."
    page = decoded_page(
        plan,
        changed(
            result,
            supported=0,
            clear=[False] * 2,
            groups=alone,
            explained=nothing,
            choices=[],
            notes=[note],
        ),
    )
    assert "<h1>No groups can be told apart among 20,000 people</h1>" in page
    assert f'<div class="note" role="note"><p>{note}</p></div>' in page
    assert "One group: everybody" in page
    assert page.count("<article") == 1
    assert "explain" not in page
    assert "nan" not in page


def test_everybody_is_read_off_the_result_and_not_off_the_told_groups(evil):
    plan, result = evil
    document = json.loads(result)
    (age,) = [each for each in document["everybody"] if each["feature"] == plan.features.features[0].name]
    others = [each for each in document["everybody"] if each is not age]
    groups = [{**group, "apart": [age["feature"]]} for group in document["groups"]]
    marked = changed(
        result, groups=groups, everybody=[{**age, "value": 33.0, "low": 31.0, "high": 36.0}, *others]
    )
    page = decoded_page(plan, marked)
    assert "<b>33</b> <small>31–36</small>" in page.partition("<h3>Everybody</h3>")[2]
    assert "everybody 33" in page.partition("<h3>Everybody</h3>")[0]


def test_shares_and_other_answers_are_told_with_the_groups_names(evil):
    plan, result = evil
    document = json.loads(result)
    first, second = document["groups"]
    first |= {"share": 0.613, "low": 0.587, "high": 0.641}
    page = decoded_page(plan, changed(result, groups=[first, second], alternatives=[[1]]))
    assert page.count("61% (59 to 64)") == 2  # in the list and on its card
    assert "k-means finds one other answer as good; it cuts group B otherwise." in page
    assert page.count('class="chosen"') == 1


def result_of(plan, centers, **changes):
    """A result that has these centers."""
    count = len(centers)
    found = Result(
        centers=centers,
        weights=np.full(count, 1 / count),
        errors=np.full(count, 0.01),
        weight_errors=np.full(count, 0.01),
        clear=np.ones(count, dtype=bool),
        explained=Interval(0.5, 0.4, 0.6),
        notes=(),
        count=10**6,
        guarantee=plan.guarantee,
        plan_id=plan.id,
        population=Population(centers, np.full(count, 1 / count), plan.id, (plan.id,), 0.0),
        mean=centers.mean(axis=0),
        mean_error=0.01,
        coverage=0.9,
        features=plan.features,
    )
    return replace(found, **changes)


def written(plan, centers, **changes):
    return result_document(result_of(plan, centers, **changes))


def test_large_schemas_and_many_groups_are_bounded():
    features = [Number(f"n{i}", 0, 1) for i in range(200)] + [Category("c", [str(i) for i in range(100)])]
    plan = Plan.design(features=features, clusters=40, epsilon=1.0, expected_users=10**6)
    rng = np.random.default_rng(0)
    page = decoded_page(plan, written(plan, rng.normal(0, 0.05, (40, plan.dimension))))
    assert "<h1>40 groups among 1,000,000 people</h1>" in page
    assert page.count('class="card group') == 27  # 26 and everybody
    assert "And 14 smaller groups" in page
    assert len(page) < 2_000_000
    Reader(page)
    embedded = Plan.design(
        features=[Embedding("vector", 3, 1.0), Category("c", [str(i) for i in range(100)])],
        clusters=2,
        epsilon=1.0,
        expected_users=10**4,
    )
    unstated = {"coverage": None, "weight_errors": np.full(2, np.nan), "explained": Interval(*[np.nan] * 3)}
    shown = decoded_page(embedded, written(embedded, rng.normal(0, 0.1, (2, embedded.dimension)), **unstated))
    assert "and 94 more" in shown
    assert "vector: agreement" in shown
    assert "nan" not in shown
    assert "explain" not in shown


def test_the_window_and_the_forecast_are_told():
    plan = small_plan(Collection(opens=7200, closes=10800, minimum=500, retention=86_400))
    page = Reader(study_page(plan, plan.collection, status_of(plan, 12_345)))
    words = " ".join(page.text.split())
    assert "1970-01-01 02:00 UTC" in words
    assert "1970-01-01 03:00 UTC" in words
    assert "from 500 people on" in words
    assert "deleted 1 day after the close" in words
    assert "Not open yet" in words
    for people in (12_000, 20_000):
        for kind in ("separated", "real"):
            expected = plan.expected(people, kind=kind)
            assert f"{expected.recovered:.0%} ({expected.recovered_low:.0%} to" in words
            assert f"error {expected.objective:.2f}" in words
    nobody = Reader(study_page(plan, plan.collection, status_of(plan, 3)))
    assert "too few to say" in nobody.text
    invited = small_plan(ids="token")
    assert "from invitations" in study_page(invited, Collection(), status_of(invited, 3))


def test_the_promise_is_rounded_up():
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        shown = re.search(r"factor of ([\d.,]+) ", participate_page(Plan.design(2, 2, epsilon, 1000)))[1]
        assert np.exp(epsilon) <= float(shown) < np.exp(epsilon) * 1.01


def test_where_reports_are_mixed_no_page_promises_more_than_that():
    plan = Plan.design(3, 2, 1.0, 20_000, model="shuffle", delta=1e-6)
    page = Reader(participate_page(plan))
    assert "holds against everybody" not in page.text
    assert "needs no trust" not in page.text
    for line in (*plan.guarantee.paragraphs, *plan.guarantee.conditions):
        assert line in page.text
    told = Reader(study_page(plan, Collection(), status_of(plan, 10)))
    assert "a shuffler mixes" in told.text
    assert "differentially private report of" not in told.text
    assert "Take part" not in told.text
    local = Reader(participate_page(Plan.design(3, 2, 1.0, 20_000)))
    assert "holds against everybody" in local.text


def test_a_shuffler_serves_the_form_and_a_collector_of_the_same_study_does_not(tmp_path):
    plan = Plan.design(
        features=[Flag("member")], clusters=2, epsilon=2.0, expected_users=60, model="shuffle", delta=1e-6
    )
    path = f"/plans/{plan.id}/participate"
    with serving(
        tmp_path / "a", kind=Shuffler, deliver_to="http://127.0.0.1:9", routes=SHUFFLER_PAGES
    ) as shuffler:
        with RemoteCollector(shuffler.url, token=TOKEN, attempts=1) as operator:
            operator.put_plan(plan)
            (told,) = operator.studies()
            assert (told["form"], told["actions"]) == (True, ["close"])
            assert "mixed and handed over, when you close it" in told["next"]
            operator.close(plan.id)
            (told,) = operator.studies()
            assert (told["form"], told["actions"]) == (False, ["delete"])
        _, headers, body = ask(shuffler.url, "GET", path)
        page = Reader(body.decode())
        assert "connect-src 'self'" in headers["content-security-policy"]
        assert "mixes with those of at least 53 other people" in " ".join(page.text.split())
        assert shuffler.collector.public_key in page.text
        assert b"mixing.js" in body
        assert "A shuffler of private reports" in Reader(ask(shuffler.url, "GET", "/")[2].decode()).text
        problem(ask(shuffler.url, "GET", f"/plans/{plan.id}/study"), 404, "not-found")
    with serving(tmp_path / "b", shufflers=[public_key(KEY)], routes=PAGES) as collector:
        with RemoteCollector(collector.url, token=TOKEN, attempts=1) as operator:
            operator.put_plan(plan)
            assert not operator.studies()[0]["form"]
        body = ask(collector.url, "GET", path)[2]
        assert "Nothing can be sent from here" in " ".join(Reader(body.decode()).text.split())
        assert b"<script" not in body


def test_a_sheet_is_published_signed_once_and_shown_as_text(pages, plan, tmp_path):
    said = {"title": EVIL, "purpose": EVIL, "who": EVIL, "contact": ODD, "consent": EVIL}
    (tmp_path / "sheet.json").write_text(
        json.dumps({"languages": {"en": said, "ar": said}}), encoding="utf-8"
    )
    sheet = draft_sheet(tmp_path / "sheet.json", plan)
    path = f"/plans/{plan.id}/sheet"
    problem(ask(pages.url, "GET", path), 404, "not-found")
    problem(ask(pages.url, "PUT", path, json.dumps(sheet)), 401, "not-authorized")
    problem(ask(pages.url, "PUT", path, b'{"format": 1}', OPERATOR), 400, "malformed-request")
    signed = pages.operator.put_sheet(plan, sheet)
    assert pages.operator.put_sheet(plan, sheet) == signed  # again is once
    assert pages.operator.sheet(plan, public_key(KEY).hex())["languages"] == sheet["languages"]
    other = {**sheet, "languages": {"en": sheet["languages"]["en"]}}
    with pytest.raises(CollectorError, match="never replaced"):
        pages.operator.put_sheet(plan, other)
    assert ask(pages.url, "GET", path)[2] == signed
    for wanted, language in (("ar-EG,en;q=0.5", "ar"), ("fr", "en")):
        headers = {"accept-language": wanted}
        text = ask(pages.url, "GET", f"/plans/{plan.id}/participate", headers=headers)[2].decode()
        assert f'<h1 lang="{language}" dir="auto">' in text
        assert EVIL in Reader(text.replace("?language", "../x")).text
        assert "<script>window" not in text
        assert "<img" not in text
