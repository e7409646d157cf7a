"""The ledger in a real browser: one answer per plan, exact totals, racing tabs, a browser that is killed."""

import re
import time

import pytest

from coterie import Plan

POINT = [0.3, -0.4]

ANSWER = """async ([plan, point, options]) => {
  const {token, policy} = options ?? {};
  try {
    const bytes = await new coterie.Ledger().answer(coterie.readPlan(plan), point, {
      ...(token && {token: Uint8Array.from(token)}),
      ...(policy && {policy}),
    });
    return Array.from(bytes);
  } catch (error) {
    if (!(error instanceof coterie.CoterieError)) throw error;
    return `${error.name}: ${error.message}`;
  }
}"""

SPENT = """async () => {
  const ledger = new coterie.Ledger();
  return {...await ledger.spent(), plans: (await ledger.entries()).map(({plan}) => plan)};
}"""

# Starts the answers of all plans at once, when the clock says so; returns what each gave.
RACE = f"""async ([plans, point, at]) => {{
  await new Promise((resolve) => setTimeout(resolve, at - Date.now()));
  return Promise.all(plans.map((plan) => ({ANSWER})([plan, point])));
}}"""

COUNT_DRAWS = """() => {
  const draw = crypto.getRandomValues.bind(crypto);
  window.draws = 0;
  crypto.getRandomValues = (array) => { window.draws++; return draw(array); };
}"""


@pytest.fixture(scope="module")
def plans():
    return [Plan.design(2, 2, 1.0, 1000, seed=seed).to_json() for seed in range(12)]


def sent(answer):
    assert isinstance(answer, list), answer
    return bytes(answer)


def test_asked_again_the_same_bytes_come_back_whatever_the_value_is_now(opened, plans):
    page = opened()
    first = sent(page.evaluate(ANSWER, [plans[0], POINT]))
    assert len(first) == 13
    assert sent(page.evaluate(ANSWER, [plans[0], [0.9, 0.1]])) == first
    page.reload()
    page.wait_for_function("() => window.coterie")
    page.evaluate(COUNT_DRAWS)
    assert sent(page.evaluate(ANSWER, [plans[0], [0.0, 0.0]])) == first
    assert sent(opened().evaluate(ANSWER, [plans[0], POINT])) == first
    assert page.evaluate("() => window.draws") == 0
    assert len(page.evaluate(SPENT)["plans"]) == 1


def test_one_plan_of_a_study_is_answered(opened, plans):
    first = Plan.from_json(plans[0])
    later = Plan.design(2, 2, 1.0, 1000, study=first.id, after=[first.id])
    page = opened()
    sent(page.evaluate(ANSWER, [plans[0], POINT]))
    page.evaluate(COUNT_DRAWS)
    refused = page.evaluate(ANSWER, [later.to_json(), POINT])
    assert re.match("LedgerError: .*another plan of its study", refused)
    assert page.evaluate("() => window.draws") == 0
    assert page.evaluate(SPENT)["plans"] == [first.id]


def test_totals_end_it_exactly(opened):
    """Spend 0.1 ten times: as doubles add up that is below 1, exactly it is above."""
    page = opened()
    tenths = [Plan.design(2, 2, 0.1, 1000, seed=seed).to_json() for seed in range(10)]
    policy = {"policy": {"totalEpsilon": 1.0}}
    for plan in tenths[:9]:
        sent(page.evaluate(ANSWER, [plan, POINT, policy]))
    assert re.match("PolicyError: .*totalEpsilon 1,", page.evaluate(ANSWER, [tenths[9], POINT, policy]))
    spent = page.evaluate(SPENT)
    assert len(spent["plans"]) == 9
    assert spent["epsilon"] == spent["localEpsilon"] == 0.9000000000000001
    assert spent["delta"] == 0


def test_a_plan_that_asks_too_much_leaves_no_trace(opened):
    page = opened()
    page.evaluate(COUNT_DRAWS)
    refused = page.evaluate(ANSWER, [Plan.design(2, 2, 4.5, 1000).to_json(), POINT])
    assert re.match("PolicyError: .*maxEpsilon 4,", refused)
    assert page.evaluate("() => window.draws") == 0
    assert page.evaluate(SPENT)["plans"] == []


def test_a_point_that_is_none_leaves_no_trace(opened, plans):
    page = opened()
    assert page.evaluate(ANSWER, [plans[0], [1, "x"]]).startswith("PointError")
    assert page.evaluate(SPENT)["plans"] == []
    sent(page.evaluate(ANSWER, [plans[0], POINT]))


def test_a_token_is_kept_with_its_report(opened):
    plan = Plan.design(2, 2, 1.0, 1000, ids="token").to_json()
    page = opened()
    token = list(range(16))
    first = sent(page.evaluate(ANSWER, [plan, POINT, {"token": token}]))
    assert (len(first), list(first[:16])) == (29, token)
    assert sent(page.evaluate(ANSWER, [plan, POINT, {"token": token[::-1]}])) == first


def race(pages, *arguments):
    """Run the same in several tabs at once."""
    at = time.time() * 1000 + 500
    for page in pages:  # each starts by itself, later
        page.evaluate(f"(given) => {{ window.outcome = ({RACE})(given); }}", [*arguments, at])
    return [page.evaluate("() => window.outcome") for page in pages]


@pytest.mark.parametrize("locks", [True, False])
def test_two_tabs_at_once_draw_once(opened, plans, locks):
    """Two tabs answer the same plans. Without the lock the transaction still holds."""
    pages = [opened(), opened()]
    for page in pages:
        page.evaluate(COUNT_DRAWS)
        if not locks:
            page.evaluate("() => { navigator.locks.request = (name, work) => work(); }")
    one, other = race(pages, plans[:6], POINT)
    assert list(map(sent, one)) == list(map(sent, other))
    draws = sum(page.evaluate("() => window.draws") for page in pages)
    assert draws == 2 * 6  # an id and a draw for each plan; a word is refused once in a million
    assert len(pages[0].evaluate(SPENT)["plans"]) == 6


def test_two_tabs_at_once_keep_one_total(opened, plans):
    """Twelve plans of epsilon 1, six in each tab: eight are answered."""
    pages = [opened(), opened()]
    outcomes = []
    at = time.time() * 1000 + 500
    for page, share in zip(pages, (plans[:6], plans[6:]), strict=True):
        page.evaluate(f"(given) => {{ window.outcome = ({RACE})(given); }}", [share, POINT, at])
    for page in pages:
        outcomes += page.evaluate("() => window.outcome")
    refused = [one for one in outcomes if isinstance(one, str)]
    assert len(refused) == 4
    assert all("PolicyError" in one and "totalEpsilon 8" in one for one in refused)
    assert opened().evaluate(SPENT)["epsilon"] == 8


def test_whoever_holds_the_lock_is_waited_for(opened, plans):
    holder, waiter = opened(), opened()
    holder.evaluate(
        """() => new Promise((held) => navigator.locks.request("coterie-ledger", () => {
          held();
          return new Promise((release) => { window.release = release; });
        }))"""
    )
    waiter.evaluate(
        f"(given) => {{ window.outcome = ({ANSWER})(given).then((a) => (window.done = a)); }}",
        [plans[0], POINT],
    )
    time.sleep(0.5)
    assert waiter.evaluate("() => window.done === undefined")
    holder.evaluate("() => window.release()")
    assert len(sent(waiter.evaluate("() => window.outcome"))) == 13


@pytest.mark.parametrize(
    "fault",
    [
        "IDBObjectStore.prototype.add = function () { throw new DOMException('', 'QuotaExceededError'); }",
        "const add = IDBObjectStore.prototype.add; IDBObjectStore.prototype.add = function (value) "
        "{ add.call(this, value); this.transaction.abort(); }",
        "indexedDB.open = () => { throw new DOMException('', 'SecurityError'); }",
        "Object.defineProperty(navigator, 'locks', {value: undefined})",
    ],
)
def test_what_cannot_be_kept_is_not_returned(opened, plans, fault):
    page = opened()
    page.evaluate(f"() => {{ {fault} }}")
    assert page.evaluate(ANSWER, [plans[0], POINT]).startswith("LedgerError")
    fresh = opened()
    assert fresh.evaluate(SPENT)["plans"] == []
    sent(fresh.evaluate(ANSWER, [plans[0], POINT]))


@pytest.mark.parametrize(
    "damage",
    [
        "entry.answer = entry.answer.slice(1)",
        "entry.epsilon = NaN",
        "entry.study = ''",
        "entry.answer = null",
        "delete entry.delta",
    ],
)
def test_a_damaged_ledger_is_an_error_and_no_reason_to_draw(opened, plans, damage):
    page = opened()
    sent(page.evaluate(ANSWER, [plans[0], POINT]))
    page.evaluate(
        """(damage) => new Promise((resolve) => {
          const request = indexedDB.open("coterie-ledger");
          request.onsuccess = () => {
            const transaction = request.result.transaction("answers", "readwrite");
            const store = transaction.objectStore("answers");
            store.getAll().onsuccess = ({target: {result: [entry]}}) => {
              new Function("entry", damage)(entry);
              store.put(entry);
            };
            transaction.oncomplete = () => { request.result.close(); resolve(); };
          };
        })""",
        damage,
    )
    page.evaluate(COUNT_DRAWS)
    assert re.match("LedgerError: .*damaged", page.evaluate(ANSWER, [plans[0], POINT]))
    assert page.evaluate("() => window.draws") == 0


def test_the_ledger_keeps_the_answer_and_nothing_of_the_person(opened, plans):
    page = opened()
    answer = sent(page.evaluate(ANSWER, [plans[0], POINT]))
    (entry,) = page.evaluate(
        "async () => (await new coterie.Ledger().entries()).map((e) => ({...e, answer: [...e.answer]}))"
    )
    assert bytes(entry.pop("answer")) == answer
    plan = Plan.from_json(plans[0])
    assert abs(entry.pop("day") - time.time() / 86400) < 1.5
    assert entry == {"plan": plan.id, "study": plan.id, "epsilon": 1, "delta": 0, "localEpsilon": 1}


def test_an_answer_outlives_a_browser_that_is_killed(killable, opened, plans):
    first = killable()
    answer = sent(opened(first.context).evaluate(ANSWER, [plans[0], POINT]))
    first.kill()
    page = opened(killable().context)
    assert page.evaluate(SPENT)["plans"] == [Plan.from_json(plans[0]).id]
    assert sent(page.evaluate(ANSWER, [plans[0], [0.0, 0.0]])) == answer
