"""Taking part in a study of the shuffle model: a shuffler's page in real Chromium, and what it declines."""

import numpy as np
import pytest

from coterie.encode import Client
from coterie.features import Category, Flag, Number, Schema
from coterie.plan import Plan
from coterie.remote import Receipt, RemoteCollector
from coterie.service.pages.routes import PAGES, SHUFFLER_PAGES
from coterie.service.shuffler import Shuffler
from coterie.wire.signing import new_key, public_key
from tests.browser.test_pages import shown_bytes, sign_in
from tests.browser.test_reports import RECORD_COINS, draw_of
from tests.service.conftest import KEY, TOKEN, serving
from tests.service.test_shuffler import eventually

SCHEMA = Schema((Number("age", 17, 90), Flag("member"), Category("device", ("phone", "tablet", "computer"))))
MIXED = Plan.design(features=SCHEMA, clusters=2, epsilon=2.0, expected_users=60, model="shuffle", delta=1e-6)
SHUFFLER_KEY = public_key(KEY).hex()


@pytest.fixture
def services(tmp_path):
    """Run a shuffler and its collector, with their pages; `put` takes a plan in at both."""
    with (
        serving(tmp_path / "collector", shufflers=[public_key(KEY)], routes=PAGES) as collector,
        serving(
            tmp_path / "shuffler", kind=Shuffler, deliver_to=collector.url, routes=SHUFFLER_PAGES
        ) as shuffler,
        RemoteCollector(collector.url, token=TOKEN, attempts=1) as collector.operator,
        RemoteCollector(shuffler.url, token=TOKEN, attempts=1) as shuffler.operator,
    ):
        shuffler.local = shuffler.url.replace("127.0.0.1", "localhost")
        shuffler.collector._address = shuffler.local

        def put(plan):
            collector.operator.put_plan(plan)
            shuffler.operator.put_plan(plan)
            return f"{shuffler.local}/plans/{plan.id}/participate"

        yield collector, shuffler, put


def answer(page):
    page.get_by_label("Age").fill("34")
    page.get_by_role("group", name="Member").get_by_label("Yes").check()
    page.get_by_role("group", name="Device").get_by_label("tablet").check()


def test_somebody_takes_part_through_the_shuffler(services, visit, python, axe):
    collector, shuffler, put = services
    page = visit(f"{put(MIXED)}#{SHUFFLER_KEY}", before=RECORD_COINS)
    assert "mixes with those of at least 53 other people" in page.locator(".lead").inner_text()
    answer(page)
    page.get_by_role("button", name="Check my answers").click()
    assert axe(page) == []
    page.evaluate("() => void (window.coins.length = 0)")  # axe draws some, too
    assert SHUFFLER_KEY in page.locator("label[for=trust]").inner_text()
    page.click("#draw")
    page.get_by_text("Please say first that you trust who mixes").wait_for()
    assert page.evaluate("() => window.coins") == []
    page.check("#trust")
    page.click("#draw")
    page.wait_for_selector("#report")
    identity, *words = page.evaluate("() => window.coins")
    assert "by itself" in page.locator(".doubt").inner_text()
    assert axe(page) == []
    draw = draw_of(words, MIXED.parameters.randomizer.total)
    report = shown_bytes(page)
    record = {"age": 34.0, "member": True, "device": "tablet"}
    assert [report.hex()] == python(MIXED, MIXED.features.points([record]), [identity], [draw])
    page.click("#send")
    page.wait_for_selector("#sent")
    assert axe(page) == []
    assert Receipt.read(page.locator("#receipt").inner_text()) == Receipt.of(MIXED, report)
    assert page.get_by_text("See how the study is going").count() == 0  # its collector tells

    others = Client(MIXED).encode_many(np.zeros((59, MIXED.dimension)))
    assert shuffler.operator.send(MIXED, others).failures == ()
    shuffler.operator.release(MIXED.id)
    eventually(lambda: list(collector.store.batches(MIXED.id)))
    (batch,) = collector.store.batches(MIXED.id)
    assert report in bytes(batch.data)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"_address": ""}, "does not say that it mixes here"),
        ({"_address": "https://elsewhere"}, "does not say that it mixes here"),
        ({"_issuers": (public_key(new_key()),)}, "lets in people one by one"),
    ],
    ids=["no address", "another address", "admissions"],
)
def test_where_nobody_says_that_it_mixes_nothing_is_answered(services, context, change, words):
    _, shuffler, put = services
    vars(shuffler.collector).update(change)
    page = context.new_page()
    page.goto(put(MIXED))
    page.get_by_text(words).wait_for()
    assert page.locator("form").count() == 0


def test_a_link_may_name_the_key_of_who_mixes(services, visit):
    *_, put = services
    page = visit(f"{put(MIXED)}#{'ab' * 32}")
    assert "another shuffler than your link names" in page.locator("h2").first.inner_text()
    assert page.locator("form").count() == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"protocol": "vector-sums", "cells": 4}, "hide nothing until they are mixed"),
        ({"protocol": "net-tree"}, "of a kind that this page does not make"),
        ({"epsilon": 4.5}, "ε = 4.5 about you"),
        ({"delta": 1e-4}, "break its promise with a chance of 0.0001"),
    ],
    ids=["shares", "another protocol", "too much", "too often"],
)
def test_what_a_browser_does_not_answer_is_said_for_people(services, visit, options, words):
    *_, put = services
    asked = {"clusters": 2, "epsilon": 2.0, "expected_users": 60, "delta": 1e-6, **options}
    page = visit(put(Plan.design(features=SCHEMA, model="shuffle", **asked)))
    assert words in page.locator("#flow").inner_text()
    assert page.locator("form").count() == 0


def test_what_would_be_lost_if_nobody_mixed_is_counted_too(services, visit):
    *_, put = services
    asked = {"features": SCHEMA, "clusters": 2, "model": "shuffle", "delta": 1e-6}
    first, second = (Plan.design(epsilon=1.0, expected_users=100_000, seed=i, **asked) for i in (0, 1))
    page = visit(put(first))
    answer(page)
    page.get_by_role("button", name="Check my answers").click()
    page.check("#trust")
    page.click("#draw")
    page.wait_for_selector("#report")
    declined = visit(put(second)).locator("#flow").inner_text()
    assert "ε = 7.6" in declined
    assert "if nobody mixed the reports" in declined
    assert "12 to all together" in declined


def test_the_collector_of_a_mixed_study_sends_people_away(services, chromium, axe):
    collector, _, put = services
    put(MIXED)
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"{collector.url.replace('127.0.0.1', 'localhost')}/plans/{MIXED.id}/participate")
        assert "Nothing can be sent from here" in page.locator("#elsewhere").inner_text()
        assert page.locator("script, form").count() == 0
        assert axe(page) == []


def test_a_shuffler_has_a_console(services, visit, axe):
    _, shuffler, put = services
    put(MIXED)
    page = visit(shuffler.local, ready="#token")
    assert "A shuffler of private reports" in page.locator("h1").inner_text()
    sign_in(page)
    page.get_by_text("From 54 people on it is mixed and handed over, when you close it.").wait_for()
    assert axe(page) == []
    assert page.get_by_role("link", name="Its form").is_visible()
    assert not page.get_by_role("link", name="Its page").is_visible()
    page.get_by_role("button", name="Close: age, member, device").click()
    page.click("#dialog-yes")
    page.get_by_text("What was found, its collector tells.").wait_for()
