/**
 * Takes part in a study: reads the plan and its sheet, asks, asks once more with all answers in view, makes the report here, shows
 * what leaves, sends it, keeps the receipt and what became of it.
 *
 * Text of a plan or a sheet is only ever set as text. Answers are read from the form when the report is made and kept nowhere; the
 * ledger keeps the report and its fate. What is drawn is drawn once: going back to change an answer would spend the promise twice.
 */
import { chance, CoterieError, DEFAULT_POLICY, Ledger, readPlan } from "./coterie.js";

const MEDIA_TYPE = "application/vnd.coterie.reports";
const ID_BYTES = 12;
const TOKEN_BYTES = 16;
const MADE_UP = 200; // people whose answers the report is held against
const MOST_RADIOS = 6;
const SOMETHING_ELSE = 0.5; // a number that no category has: its values are texts and integers
const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS = "January February March April May June July August September October November December".split(" ");
const REASONS = {
  malformed: "The server could not read the report. This page and the server do not fit together; please tell who runs the study.",
  closed: "The study is closed: the report came too late and was not taken in.",
  early: "The study is not open yet. The report is kept here: come back and send it then.",
  full: "The study has all the reports that it takes, and did not take this one.",
  token: "The invitation is not known, or was used with another report.",
};

const AGAIN = ["early", "full"]; // reasons that may pass

const flow = document.getElementById("flow");
const state = document.getElementById("state");
const ledger = new Ledger();

/** An element with attributes and children; texts stay texts. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== undefined && value !== false) element.setAttribute(key, String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Text of a plan: isolated, so that its direction stays its own. */
const foreign = (text) => make("bdi", {}, text);

const mixes = "mixes" in flow.dataset; // the server is a shuffler
const language = flow.dataset.language; // of the sheet, as the server chose it by what the browser asks for; none without a sheet
let words = { questions: {}, skip: "", other: "" }; // of the sheet in that language

/** Text of the sheet: isolated, and in its language. */
const said = (text) => make("bdi", { lang: language }, text);

/** How the sheet words a feature; nothing where it does not. */
const wordingOf = (feature) => (Object.hasOwn(words.questions, feature.name) ? words.questions[feature.name] : { ask: "", help: "", answers: {} });

/** A number as people read it: three digits after the point at most, and never 1.999999998323138. */
const plain = (value) => value.toLocaleString("en", { maximumFractionDigits: 3 });

function say(words) {
  state.textContent = words;
}

function heading(text) {
  return make("h2", { tabindex: "-1" }, text);
}

/** Puts a section in place of all others and moves the reader there. */
function show(section, { focus = true } = {}) {
  flow.replaceChildren(section);
  if (focus) section.querySelector("h2")?.focus();
}

function note(title, ...paragraphs) {
  return make("section", { class: "card box" }, heading(title), ...paragraphs.map((words) => (words instanceof Node ? words : make("p", {}, words))));
}

// ---------------------------------------------------------------- the form

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function namesOf(feature) {
  const first = /\b0 is (Monday|Sunday|January)\b/i.exec(feature.description)?.[1]?.toLowerCase();
  const names = { monday: DAYS, sunday: [DAYS[6], ...DAYS.slice(0, 6)], january: MONTHS }[first];
  return names?.length === feature.period ? names : null;
}

function isClock(feature) {
  return feature.kind === "cycle" && feature.period === 24 && ["h", "hour", "hours"].includes(feature.unit);
}

/** The choices of a feature as [element, value]; null where it is asked for in another way. */
function choicesOf(feature) {
  const { answers } = wordingOf(feature);
  const choice = (text, value) => (Object.hasOwn(answers, String(value)) ? [said(answers[String(value)]), value] : [foreign(text), value]);
  switch (feature.kind) {
    case "flag":
      return [choice("Yes", true), choice("No", false)];
    case "category":
      return [...feature.values.map((value) => choice(String(value), value)), ...(feature.unknown === "own" ? [[words.other ? said(words.other) : foreign("Something else"), SOMETHING_ELSE]] : [])];
    case "ordinal":
      return feature.levels.map((level) => choice(String(level), level));
    case "cycle": {
      const names = namesOf(feature) ?? (Object.keys(answers).length ? Array.from({ length: feature.period }, (_, place) => String(place)) : null);
      return names?.map((name, place) => choice(name, place)) ?? null;
    }
    default:
      return null;
  }
}

const skipping = () => (words.skip ? said(words.skip) : foreign("Prefer not to say"));

/** Which of a feature's bounds a number breaks, in words; nothing while it may still become one that does not. */
function outside(control, low, high, { typing }) {
  if (control.validity.badInput) return "This is not a number.";
  const value = control.valueAsNumber;
  if (Number.isNaN(value) || (value >= low && value <= high) || (typing && value < low && value >= 0)) return "";
  return `This must be from ${plain(low)} to ${plain(high)}. If yours lies beyond, give the nearer of the two, or leave it empty.`;
}

/** Shows what is wrong with a control beside it, while somebody types and once they go on. */
function checking(control, hint, check) {
  const told = make("span", { class: "wrong", id: `${control.id}-wrong`, role: "alert" });
  const look = (typing) => {
    const fault = check({ typing });
    if (told.textContent !== fault) told.textContent = fault;
    control.setAttribute("aria-invalid", String(Boolean(fault)));
    return !fault;
  };
  control.addEventListener("input", () => look(true));
  control.addEventListener("change", () => look(false));
  control.setAttribute("aria-describedby", [...(hint.textContent ? [hint.id] : []), told.id].join(" "));
  return { told, isRight: () => look(false) };
}

/**
 * A question: its element, its title, a function that reads the answer (undefined where there is none), one that says it in words,
 * and one that says whether it may be used as it stands.
 */
function question(feature, number) {
  const id = `question-${number}`;
  const wording = wordingOf(feature);
  const title = () => (wording.ask ? said(wording.ask) : foreign(capital(feature.name)));
  const choices = choicesOf(feature);
  const description = feature.kind === "cycle" && choices ? feature.description.replace(/[;,.]?\s*\b0 is \w+/, "") : feature.description; // names say it
  const help = wording.help ? said(wording.help) : !wording.ask && description ? foreign(description) : null;
  const hint = make("span", { class: "hint", id: `${id}-hint` }, help);
  if (choices && choices.length <= MOST_RADIOS) {
    const radios = [...choices, [skipping(), undefined]].map(([text, value], place) => {
      const radio = make("input", { type: "radio", name: id, id: `${id}-${place}`, checked: value === undefined });
      return { radio, value, text, label: make("label", { for: `${id}-${place}`, class: "choice" }, radio, text) };
    });
    const chosen = () => radios.find(({ radio }) => radio.checked);
    return {
      feature,
      title,
      element: make(
        "fieldset",
        { class: "question", "aria-describedby": help ? hint.id : undefined },
        make("legend", {}, title()),
        hint,
        make("div", { class: "choices" }, ...radios.map(({ label }) => label)),
      ),
      read: () => chosen()?.value,
      tell: () => chosen().text.cloneNode(true),
      isRight: () => true,
    };
  }
  let control;
  let read;
  let tell = () => foreign(control.value);
  let check = null;
  let unit = "";
  if (choices) {
    const option = (text, value) => make("option", { value, lang: text.getAttribute("lang") ?? undefined }, text.textContent);
    control = make("select", { id }, option(skipping(), ""), ...choices.map(([text], place) => option(text, place)));
    read = () => (control.value === "" ? undefined : choices[Number(control.value)][1]);
    tell = () => choices[Number(control.value)][0].cloneNode(true);
  } else if (isClock(feature)) {
    control = make("input", { type: "time", id });
    read = () => {
      const [hours, minutes] = control.value.split(":").map(Number);
      return control.value ? hours + minutes / 60 : undefined;
    };
    check = ({ typing }) => (control.validity.badInput && !typing ? "Give hours and minutes, or clear both." : "");
  } else {
    const [low, high] = feature.kind === "cycle" ? [0, feature.period] : [feature.low, feature.high];
    control = make("input", { type: "number", id, step: "any", inputmode: "decimal", min: low, max: high });
    read = () => (Number.isNaN(control.valueAsNumber) ? undefined : control.valueAsNumber);
    check = (when) => outside(control, low, high, when);
    hint.append(...(help ? [" "] : []), make("span", { class: "range" }, `From ${plain(low)} to ${plain(high)}.`));
    unit = feature.unit;
    tell = () => make("span", {}, foreign(control.value), ...(unit ? [" ", foreign(unit)] : []));
  }
  control.setAttribute("autocomplete", "off");
  if (hint.textContent) control.setAttribute("aria-describedby", hint.id);
  const checked = check && checking(control, hint, check);
  return {
    feature,
    title,
    element: make(
      "div",
      { class: "question" },
      make("label", { for: id }, title()),
      hint,
      make("span", { class: "with-unit" }, control, unit ? foreign(unit) : null),
      checked?.told,
    ),
    read,
    tell,
    isRight: checked?.isRight ?? (() => true),
  };
}

/** The invitation: 32 hex digits, or a link that ends with them. */
function tokenQuestion(given) {
  const control = make("input", { id: "token", type: "text", autocomplete: "off", spellcheck: "false", maxlength: 600, value: given });
  const hint = make("span", { class: "hint", id: "token-hint" }, "The link that you were sent, or the 32 letters and digits at its end; it counts once");
  const digits = () => /(?:^|#)([0-9a-fA-F]{32})$/.exec(control.value.trim())?.[1] ?? "";
  const checked = checking(control, hint, ({ typing }) => (digits() || typing ? "" : "The invitation has 32 letters (a to f) and digits."));
  return {
    element: make("div", { class: "question" }, make("label", { for: "token" }, "Your invitation"), hint, control, checked.told),
    read: () => Uint8Array.from(digits().match(/../g) ?? [], (pair) => parseInt(pair, 16)),
    isRight: checked.isRight,
  };
}

/** The questions in the order and on the pages of the sheet; all on one page where it does not say. */
function pagesOf(questions, sheet) {
  if (!sheet) return [{ title: null, questions }];
  return sheet.pages.map((names, place) => ({
    title: words.pages[place] ? said(words.pages[place]) : null,
    questions: names.flatMap((name) => questions.filter(({ feature }) => feature.name === name)),
  }));
}

/** @param terms The sheet, if there is one, and the key of the shuffler where reports are mixed. */
function askFor(plan, terms, invitation) {
  const asked = plan.features.features.filter((feature) => feature.kind !== "embedding");
  const left = plan.features.features.filter((feature) => feature.kind === "embedding");
  const questions = asked.map(question);
  const token = plan.ids === "token" ? tokenQuestion(invitation) : null;
  const pages = pagesOf(questions, terms.sheet);
  const ordered = pages.flatMap((page) => page.questions);
  const parts = pages.map((page, place) => {
    const own = [...(token && place === 0 ? [token] : []), ...page.questions];
    const title = make("h3", { tabindex: "-1" }, page.title ?? "Questions", pages.length > 1 ? ` (page ${place + 1} of ${pages.length})` : "");
    const element = make("div", { class: "page", hidden: place > 0 }, pages.length > 1 ? title : null, make("div", { class: "questions" }, ...own.map((each) => each.element)));
    return { own, element, title };
  });
  const next = make("button", { type: "submit" });
  const back = make("button", { type: "button", class: "quiet", id: "back" }, "Back");
  const form = make(
    "form",
    { autocomplete: "off", novalidate: true },
    heading("Your answers"),
    make("p", {}, "They are read in this browser alone. Leave out whatever you like: a report looks the same either way."),
    left.length
      ? make(
          "div",
          { class: "note" },
          make("p", {}, "Not asked here: ", ...left.flatMap((feature, i) => [i ? ", " : "", foreign(feature.name)]), ". An app computes such a list of numbers from a text or a picture, which a form cannot. It counts as not given."),
        )
      : null,
    ...parts.map(({ element }) => element),
    make("div", { class: "actions" }, make("div", { class: "row" }, back, next), make("p", { class: "small" }, "Nothing is drawn or sent yet. You will see all your answers once more first.")),
  );
  const section = make("section", { class: "card box" }, form);
  let at = 0;
  const turn = (to, { focus = true } = {}) => {
    at = to;
    parts.forEach(({ element }, place) => { element.hidden = place !== to; });
    back.hidden = to === 0;
    next.textContent = to === parts.length - 1 ? "Check my answers" : "Next";
    if (focus && parts.length > 1) parts[to].title.focus();
  };
  back.addEventListener("click", () => turn(at - 1));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const wrong = parts[at].own.filter((each) => !each.isRight());
    if (wrong.length) {
      wrong[0].element.querySelector("[aria-invalid=true]").focus();
      say(wrong.length === 1 ? "One answer cannot be used as it is." : `${wrong.length} answers cannot be used as they are.`);
      return;
    }
    say("");
    if (at < parts.length - 1) turn(at + 1);
    else show(review(plan, terms, ordered, token, section));
  });
  turn(0, { focus: false });
  return section;
}

/** All answers once more, as they will be used; then the one draw. */
function review(plan, { sheet, shuffler }, questions, token, form) {
  const record = {};
  let given = 0;
  const rows = questions.map((each) => {
    const value = each.read();
    if (value !== undefined) {
      given += 1;
      Object.defineProperty(record, each.feature.name, { value, enumerable: true });
    }
    return make("div", {}, make("dt", {}, each.title()), make("dd", { class: value === undefined ? "none" : undefined }, value === undefined ? "no answer" : each.tell()));
  });
  const missing = questions.length - given;
  const draw = make("button", { type: "button", id: "draw" }, "Make my report");
  const change = make("button", { type: "button", class: "quiet", id: "change" }, "Change my answers");
  const agree = sheet ? make("input", { type: "checkbox", id: "agree" }) : null;
  const trust = shuffler ? make("input", { type: "checkbox", id: "trust" }) : null;
  change.addEventListener("click", () => {
    say("");
    show(form);
  });
  draw.addEventListener("click", () => busy(draw, async () => {
    if (agree && !agree.checked) {
      agree.focus();
      say("Please say first that you agree to take part.");
      return;
    }
    if (trust && !trust.checked) {
      trust.focus();
      say("Please say first that you trust who mixes. Without that, no report is made.");
      return;
    }
    say("");
    try {
      const earlier = await entryOf(plan);
      if (earlier) return showFate(plan, earlier); // another tab was first
      const bytes = await ledger.answer(plan, record, { ...(token && { token: token.read() }), ...(shuffler && { policy: { shufflers: [shuffler] } }) });
      await ledger.settle(plan, "drawn");
      showReport(plan, bytes, record);
    } catch (error) {
      refuse(error);
    }
  }));
  return make(
    "section",
    { class: "card box", id: "review" },
    heading("Are these your answers?"),
    make("p", {}, "One report is drawn from them, once and for good: it cannot be drawn again, because a second draw would give more away."),
    missing ? make("div", { class: "note" }, make("p", {}, given ? `You left out ${missing} of ${questions.length} questions. That is fine, and counts as not given.` : "You answered nothing. A report of that says nothing of you, and is no help to the study; it uses up your one chance.")) : null,
    make("dl", { class: "review" }, ...rows),
    agree ? make("label", { for: "agree", class: "choice" }, agree, "I have read what the study says about itself and agree to take part.") : null,
    trust ? make("label", { for: "trust", class: "choice" }, trust, make("span", {}, `I trust ${location.host} to mix my report with other people’s, and to forget that it is mine. It has this key: `, make("code", { class: "hash" }, shuffler))) : null,
    make("div", { class: "actions" }, make("div", { class: "row" }, draw, change), make("p", { class: "small" }, "Nothing is sent yet: what leaves is shown first.")),
  );
}

// ---------------------------------------------------------------- the report

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));

/** A factor with three digits. */
function times(factor) {
  return Number(factor.toPrecision(3)).toLocaleString("en");
}

function bytesOf(plan, bytes) {
  const skip = plan.ids === "token" ? TOKEN_BYTES : 0;
  const digits = hex(bytes);
  const part = (kind, from, to, words) => [
    make("div", {}, make("dt", {}, words), make("dd", { class: kind }, make("code", {}, digits.slice(from, to).join(" ")))),
  ];
  return make(
    "dl",
    { class: "bytes" },
    ...(skip ? part("id", 0, skip, `Your invitation, ${TOKEN_BYTES} bytes`) : []),
    ...part("id", skip, skip + ID_BYTES, skip ? "A number that follows from it, 12 bytes" : "A random number, 12 bytes, drawn whatever you answered"),
    ...part("answer", skip + ID_BYTES, undefined, bytes.length - skip - ID_BYTES === 1 ? "The private answer, 1 byte" : "The private answer, 2 bytes"),
  );
}

/** A record drawn evenly from all that the form could be answered with. Nobody's secret: any generator will do. */
function madeUp(plan) {
  const record = {};
  for (const feature of plan.features.features) {
    if (feature.kind === "embedding") continue;
    const choices = choicesOf(feature);
    const u = Math.random();
    let value;
    if (choices) value = choices[Math.floor(u * choices.length)][1];
    else if (feature.kind === "cycle") value = u * feature.period;
    else if (feature.scale === "log") value = feature.low * (feature.high / feature.low) ** u;
    else value = feature.low + u * (feature.high - feature.low);
    Object.defineProperty(record, feature.name, { value, enumerable: true });
  }
  return record;
}

const SVG = "http://www.w3.org/2000/svg";

/** How many of some made-up people are as likely to send it. */
function crowd(share, words) {
  const svg = document.createElementNS(SVG, "svg");
  const attributes = { viewBox: "0 0 100 6", preserveAspectRatio: "none", role: "img", "aria-label": words, class: "crowd" };
  for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, value);
  for (const [kind, x, width] of [["same", 0, share], ["other", share, 1 - share]]) {
    const rect = document.createElementNS(SVG, "rect");
    for (const [key, value] of Object.entries({ class: kind, x: 100 * x, y: 0, width: 100 * width, height: 6 })) rect.setAttribute(key, value);
    svg.append(rect);
  }
  return svg;
}

/** What the report tells: how likely it was with these answers, and with any other. Exact chances; nothing of it is sent. */
function doubt(plan, report, record) {
  const { inside, outside } = plan.chances;
  const factor = inside / outside;
  const limit = Math.exp(plan.localEpsilon);
  const own = chance(plan, report, record);
  const likely = own === inside;
  const [least, most] = likely ? ["1/" + times(factor), "1"] : ["1", times(factor)];
  const same = Array.from({ length: MADE_UP }, () => chance(plan, report, madeUp(plan)) === own).filter(Boolean).length;
  const others = MADE_UP - same;
  const rest = `${others} make it ${times(factor)} times ${likely ? "less" : "more"} often`;
  const words = `Of ${MADE_UP} made-up people with random answers, ${same} make this very byte exactly as often as you, and ${rest}.`;
  return make(
    "div",
    { class: "doubt" },
    make("h3", {}, "What it gives away"),
    make("p", {}, `With your answers, chance makes this very byte once in ${times(1 / own)} times. Somebody with any other answers makes it with between `,
      make("b", { id: "least" }, least), " and ", make("b", { id: "most" }, most), " times that chance; never more than ", make("b", {}, times(Math.ceil(limit * 100) / 100)), mixes
        ? ` times, which is what the report promises by itself (e to the power of ${plain(plan.localEpsilon)}). Among at least ${plain(plan.minimumBatch - 1)} others nobody can tell which one is yours: what all of them together tell of you differs by no more than ${times(Math.ceil(Math.exp(plan.epsilon) * 100) / 100)} times (ε = ${plain(plan.epsilon)}), but for a chance of ${plan.delta}.`
        : ` times, which is the promise (e to the power of ε = ${plain(plan.epsilon)}).`),
    crowd(same / MADE_UP, words),
    make("p", { class: "small", id: "crowd-words" }, words, " Whoever reads it may bet on who made it, at odds that the promise bounds, and never know. This was computed here and stays here."),
  );
}

function showReport(plan, bytes, record) {
  const skip = plan.ids === "token" ? TOKEN_BYTES : 0;
  const send = make("button", { type: "button", id: "send" }, `Send these ${bytes.length} bytes`);
  const section = make(
    "section",
    { class: "card box", id: "report" },
    heading("This is all that leaves your device"),
    bytesOf(plan, bytes),
    record ? doubt(plan, bytes.slice(skip), record) : null,
    make("div", { class: "actions" }, send, make("p", { class: "small" }, "Your browser keeps these bytes, so that the same ones are sent however often you try. Your answers are kept nowhere.")),
  );
  send.addEventListener("click", () => busy(send, () => sendReport(plan, bytes)));
  show(section);
}

async function busy(button, work) {
  button.disabled = true;
  try {
    await work();
  } finally {
    button.disabled = false;
  }
}

/** Posts the bytes; returns the reason for which they were not taken, "" if they were, null if nobody knows. */
async function post(where, bytes) {
  let answer;
  try {
    answer = await fetch(where, { method: "POST", headers: { "content-type": MEDIA_TYPE }, body: bytes, credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" });
    const found = await answer.json();
    if (answer.ok) return found.failures[0]?.reason ?? "";
  } catch {
    say("The server could not be reached. Nothing is lost: the report is kept here. Please try again.");
    return null;
  }
  say(answer.status === 429 || answer.status >= 500 ? "The server is busy. Nothing is lost: please try again in a moment." : "The server did not take the report. Nothing is lost: it is kept here.");
  return null;
}

async function sendReport(plan, bytes) {
  const before = await entryOf(plan);
  if (before?.fate === "withdrawn") return showFate(plan, before); // in another tab: it would be taken and not count
  say("Sending…");
  const reason = await post("reports", bytes);
  if (reason === null) return;
  say("");
  showFate(plan, await ledger.settle(plan, reason ? "refused" : "sent", reason), { fresh: true });
}

const entryOf = async (plan) => (await ledger.entries()).find((one) => one.plan === plan.id);

// ---------------------------------------------------------------- afterwards

const receiptOf = (plan, bytes) => `coterie-receipt-1.${plan.id}.${hex(bytes).join("")}`;

function receiptParts(plan, bytes) {
  const text = receiptOf(plan, bytes);
  const output = make("output", { class: "receipt", id: "receipt", tabindex: "0" }, make("code", {}, text));
  const copy = make("button", { type: "button", class: "quiet" }, "Copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      say("The receipt was copied.");
    } catch {
      getSelection().selectAllChildren(output);
      say("The receipt is selected: copy it with your keyboard.");
    }
  });
  const save = make("a", { class: "button quiet", download: "coterie-receipt.txt", href: URL.createObjectURL(new Blob([`${text}\n`], { type: "text/plain" })) }, "Save as a file");
  return [output, make("div", { class: "row" }, copy, save)];
}

function withdrawal(plan, bytes) {
  const ask = make("button", { type: "button", class: "quiet", id: "withdraw" }, "Withdraw my report");
  const sure = make("button", { type: "button", class: "danger", id: "withdraw-sure" }, "Yes, withdraw it for good");
  const keep = make("button", { type: "button", class: "quiet" }, "Keep it");
  const box = make("div", { class: "row" }, ask);
  ask.addEventListener("click", () => {
    say("A report that is withdrawn never counts again, and this browser makes no other.");
    box.replaceChildren(sure, keep);
    sure.focus();
  });
  keep.addEventListener("click", () => {
    say("");
    box.replaceChildren(ask);
    ask.focus();
  });
  sure.addEventListener("click", () =>
    busy(sure, async () => {
      const reason = await post("withdrawals", bytes);
      if (reason === null) return;
      if (reason) {
        say(reason === "closed" ? "The study is closed: nothing can be withdrawn any more." : "The report could not be withdrawn.");
        return;
      }
      say("");
      showFate(plan, await ledger.settle(plan, "withdrawn"), { fresh: true });
    }),
  );
  return box;
}

/** Until when a report can be taken back, and how. */
function takingBack(plan, bytes) {
  const closes = plan.collection?.closes;
  const until = closes ? ` (${new Date(1000 * closes).toLocaleString("en", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" })} UTC)` : "";
  return [
    make("h3", {}, "Your receipt"),
    make("p", {}, "Keep it if you may want to take the report back."),
    ...receiptParts(plan, bytes),
    make("h3", {}, "To withdraw"),
    make("p", {}, `Until ${mixes ? "the reports are mixed, which is when the study closes or before" : "the study closes"}${until}, the receipt withdraws the report, without a reason: here, from this browser, or from anywhere with `, make("code", {}, "coterie withdraw"), ". Whoever has the receipt can do it, so keep it to yourself."),
    withdrawal(plan, bytes),
  ];
}

/** What became of the one report, as far as this browser knows: the same words now and after any reload. */
function showFate(plan, entry, { fresh = false, closed = false } = {}) {
  const { answer, fate = "drawn", reason = "" } = entry;
  const day = new Date(864e5 * entry.day).toLocaleDateString("en", { dateStyle: "long", timeZone: "UTC" });
  const made = `This browser made your report on ${day}. It makes one per study, ever: a second would give more away. `;
  const send = make("button", { type: "button", id: "send", class: fate === "sent" ? "quiet" : undefined }, fate === "sent" ? "Send it again" : "Send my report");
  send.addEventListener("click", () => busy(send, () => sendReport(plan, answer)));
  const sending = make("div", { class: "row" }, send);
  const found = {
    drawn: closed
      ? ["Your report was drawn, and the study is closed", [make("p", {}, made, "Nothing came back that says that it arrived, and the study takes no more reports.")]]
      : ["Your report is drawn, and not sent yet", [make("p", {}, made, "Nothing came back that says that it arrived. Send it: the same bytes count once, however often they are sent."), bytesOf(plan, answer), sending, ...takingBack(plan, answer)]],
    sent: ["Thank you: your report was sent, and counts", [make("p", {}, made, "The study has it, stored durably, and counts it once, however often it is sent; unless you take it back."), bytesOf(plan, answer), ...takingBack(plan, answer), make("p", { class: "after small" }, "If the study tells you that it lost reports, the same one can be sent again: "), sending, mixes ? null : make("p", { class: "after" }, make("a", { href: "study" }, "See how the study is going"))]],
    withdrawn: ["Your report is withdrawn", [make("p", {}, mixes ? "It does not count, and never will, even if it is sent again; unless it was mixed before you asked: then nobody can find it any more. " : "It does not count, and never will, even if it is sent again. ", "This browser makes no other for this study. Thank you for telling us.")]],
    refused: ["The study did not take your report", [make("p", {}, REASONS[reason] ?? "The report was not taken in."), make("p", {}, made, "It does not count."), ...(AGAIN.includes(reason) && !closed ? [bytesOf(plan, answer), sending] : [])]],
  }[fate];
  show(make("section", { class: "card box", id: fate }, heading(found[0]), ...found[1]), { focus: fresh });
}

// ---------------------------------------------------------------- what cannot be

function refuse(error) {
  const kind = error instanceof CoterieError ? error.name : "";
  const words = {
    PlanError: ["This page cannot answer this plan", "The plan is of a kind that this page does not know, or it does not keep the promise that it makes. Nothing was sent."],
    PolicyError: ["Your browser declines", "This plan, with those that were answered before, asks for more than a browser should give away. Nothing was drawn and nothing was sent."],
    LedgerError: ["Your browser cannot keep a report", "A report is kept before it is sent, so that there is only ever one. That needs storage and a secure address (https). A private window may not have it. Nothing was sent."],
  }[kind] ?? ["Something went wrong", "Nothing was sent. Please load the page again."];
  show(note(words[0], words[1], kind ? make("p", { class: "small" }, make("code", {}, foreign(error.message))) : null));
}

function closedWords(phase) {
  if (phase === "early") return ["The study is not open yet", "Come back when it is."];
  return ["The study is closed", "It takes no more reports. Thank you for coming."];
}

/** The sheet, which the server checked and signed: how the study words its questions. */
async function readSheet(id) {
  const sheet = await (await fetch("sheet", { credentials: "omit" })).json();
  if (sheet.format !== "coterie-sheet" || sheet.plan_id !== id) throw new Error("another sheet");
  words = sheet.languages[language];
  return sheet;
}

/**
 * Who mixes here: the shuffler's key, by its own statement; a link may carry the key that it must have. Shows why not and returns null
 * where nothing can be answered.
 */
async function readShuffler(id, wanted) {
  const said = await (await fetch("shuffler", { credentials: "omit", cache: "no-store" })).json();
  const address = location.href.split("/plans/")[0];
  if (said.plan_id !== id || said.address !== address) {
    show(note("This server does not say that it mixes here", "Reports of this study are private only once somebody mixes them. This server does not promise that for this address, so your browser makes no report. Nothing was sent. Please tell who runs the study."), { focus: false });
  } else if (wanted && said.public_key !== wanted) {
    show(note("This is another shuffler than your link names", "The link that you were given says by which key the one who mixes can be known, and this server has another. Nothing was drawn and nothing was sent."), { focus: false });
  } else if (said.issuers.length) {
    show(note("This study lets in people one by one", "Somebody admits each person once, through an app, and this page cannot ask for that. Take part with the app that the study names; nothing can be sent from here."), { focus: false });
  } else return said.public_key;
  return null;
}

/** A plan that this page cannot answer, said for people; null where it can. */
function unfit({ protocol, model }) {
  if (protocol === "codeword") return null;
  if (model === "shuffle" && ["vector-sums", "net-tree-sums"].includes(protocol)) {
    return note("Your browser declines", "Reports of this study are pieces that hide nothing until they are mixed: whoever mixes them could put your answers together. This page makes only reports that hide you by themselves, too. Nothing was drawn and nothing was sent.");
  }
  return note("This study needs an app", "Its reports are of a kind that this page does not make. Take part with the app that the study names; nothing can be sent from here.");
}

async function start() {
  const id = /\/plans\/([0-9a-f]{64})\//.exec(location.pathname)?.[1];
  const invitation = /^#([0-9a-fA-F]{32})$/.exec(location.hash)?.[1] ?? "";
  const wanted = /^#([0-9a-fA-F]{64})$/.exec(location.hash)?.[1].toLowerCase(); // the shuffler's key
  for (const link of document.querySelectorAll("a[hreflang]")) link.hash = invitation || (wanted ?? ""); // the page in another language
  if (invitation) history.replaceState(null, "", location.pathname + location.search); // it is as good as a key
  for (const one of document.querySelectorAll(".languages > *")) one.textContent = new Intl.DisplayNames([one.lang], { type: "language" }).of(one.lang);
  const [text, status, sheet] = await Promise.all([
    fetch(`../${id}`, { credentials: "omit" }).then((answer) => answer.text()),
    fetch("status", { credentials: "omit", cache: "no-store" }).then((answer) => answer.json()),
    language ? readSheet(id) : null,
  ]);
  const declined = unfit(JSON.parse(text));
  if (declined) return show(declined, { focus: false });
  const plan = readPlan(text, id, mixes ? (await import("./mixing.js")).mixing : undefined);
  const entry = await entryOf(plan);
  if (entry) return showFate(plan, entry, { closed: ["closed", "deleted"].includes(status.state) });
  if ((await ledger.entries()).some((one) => one.study === plan.study)) {
    return show(note("You took part in this study already", "This browser answered an earlier plan of it, and makes one report per study, ever: a second would give more away. This plan is for other people. Nothing was drawn and nothing was sent."), { focus: false });
  }
  if (status.state !== "open") return show(note(...closedWords(status.state)), { focus: false });
  if (!plan.features) {
    return show(note("This study has no form", "Its plan asks for a point, a list of numbers that an app computes, and not for answers that a person can type. Take part with the app that the study names; nothing can be sent from here."), { focus: false });
  }
  if (plan.features.features.every((feature) => feature.kind === "embedding")) {
    return show(note("This study cannot be answered with a form", "All that its plan asks for are lists of numbers that an app computes, say from a text or a picture. Take part with the app that the study names; nothing can be sent from here."), { focus: false });
  }
  const spent = await ledger.spent();
  const asks = {
    epsilon: `may learn ε = ${plain(plan.epsilon)} about you`,
    localEpsilon: `may learn ε = ${plain(plan.localEpsilon)} about you if nobody mixed the reports`,
    delta: `may break its promise with a chance of ${plan.delta}`,
  };
  for (const [name, words] of Object.entries(asks)) {
    const most = name === "delta" ? Math.min(DEFAULT_POLICY.maxDelta, 1 / plan.minimumBatch) : DEFAULT_POLICY[`max${capital(name)}`];
    const total = DEFAULT_POLICY[`total${capital(name)}`];
    if (plan[name] > most || spent[name] + plan[name] > total) {
      const kept = name === "delta" ? `${total} to all together` : `${total} to all together, of which ${plain(spent[name])} are spent`;
      return show(note("Your browser declines", `This plan ${words}. This browser gives at most ${most} to one plan and ${kept}. Nothing was drawn and nothing was sent.`), { focus: false });
    }
  }
  const shuffler = mixes ? await readShuffler(id, wanted) : null;
  if (mixes && !shuffler) return undefined;
  return show(askFor(plan, { sheet, shuffler }, invitation), { focus: false });
}

start().catch(refuse);
