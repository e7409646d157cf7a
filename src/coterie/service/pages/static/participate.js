/**
 * Takes part in a study: reads the plan, asks, makes the report here, shows what leaves, sends it, keeps the receipt.
 *
 * Text of a plan is only ever set as text. Answers are read from the form when the report is made and kept nowhere; the ledger keeps
 * the report. What is drawn is drawn once: going back to change an answer would spend the promise twice.
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

/** The choices of a feature as [words, value]; null where it is asked for in another way. */
function choicesOf(feature) {
  switch (feature.kind) {
    case "flag":
      return [["Yes", true], ["No", false]];
    case "category":
      return [...feature.values.map((value) => [String(value), value]), ...(feature.unknown === "own" ? [["Something else", SOMETHING_ELSE]] : [])];
    case "ordinal":
      return feature.levels.map((level) => [String(level), level]);
    case "cycle":
      return namesOf(feature)?.map((name, place) => [name, place]) ?? null;
    default:
      return null;
  }
}

/** A question: its element, and a function that reads the answer; undefined where there is none. */
function question(feature, number) {
  const id = `question-${number}`;
  const choices = choicesOf(feature);
  const description = feature.kind === "cycle" && choices ? feature.description.replace(/[;,.]?\s*\b0 is \w+/, "") : feature.description; // names say it
  const hint = make("span", { class: "hint", id: `${id}-hint` }, description ? foreign(description) : null);
  if (choices && choices.length <= MOST_RADIOS) {
    const radios = [...choices, ["Prefer not to say", undefined]].map(([words, value], place) => {
      const radio = make("input", { type: "radio", name: id, id: `${id}-${place}`, checked: value === undefined });
      return { radio, value, label: make("label", { for: `${id}-${place}`, class: "choice" }, radio, foreign(words)) };
    });
    return {
      element: make(
        "fieldset",
        { class: "question", "aria-describedby": description ? hint.id : undefined },
        make("legend", {}, foreign(capital(feature.name))),
        hint,
        make("div", { class: "choices" }, ...radios.map(({ label }) => label)),
      ),
      read: () => radios.find(({ radio }) => radio.checked)?.value,
    };
  }
  let control;
  let read;
  let unit = "";
  if (choices) {
    control = make("select", { id }, make("option", { value: "" }, "Prefer not to say"), ...choices.map(([words], place) => make("option", { value: place }, words)));
    read = () => (control.value === "" ? undefined : choices[Number(control.value)][1]);
  } else if (isClock(feature)) {
    control = make("input", { type: "time", id });
    read = () => {
      const [hours, minutes] = control.value.split(":").map(Number);
      return control.value ? hours + minutes / 60 : undefined;
    };
  } else {
    const [low, high] = feature.kind === "cycle" ? [0, feature.period] : [feature.low, feature.high];
    control = make("input", { type: "number", id, step: "any", inputmode: "decimal", min: low, max: high });
    read = () => (Number.isNaN(control.valueAsNumber) ? undefined : control.valueAsNumber);
    const range = `from ${low.toLocaleString("en")} to ${high.toLocaleString("en")}`;
    hint.append(...(description ? ["; "] : []), range);
    unit = feature.unit;
  }
  control.setAttribute("autocomplete", "off");
  if (hint.textContent) control.setAttribute("aria-describedby", hint.id);
  return {
    element: make(
      "div",
      { class: "question" },
      make("label", { for: id }, foreign(capital(feature.name))),
      hint,
      make("span", { class: "with-unit" }, control, unit ? foreign(unit) : null),
    ),
    read,
  };
}

function tokenQuestion(given) {
  const control = make("input", {
    id: "token", type: "text", autocomplete: "off", spellcheck: "false", required: true, pattern: "[0-9a-fA-F]{32}", maxlength: 32, value: given, "aria-describedby": "token-hint",
  });
  return {
    element: make(
      "div",
      { class: "question" },
      make("label", { for: "token" }, "Your invitation"),
      make("span", { class: "hint", id: "token-hint" }, "32 letters and digits that you were sent; it counts once"),
      control,
    ),
    read: () => Uint8Array.from(control.value.match(/../g) ?? [], (pair) => parseInt(pair, 16)),
  };
}

function askFor(plan, invitation) {
  const asked = plan.features.features.filter((feature) => feature.kind !== "embedding");
  const left = plan.features.features.filter((feature) => feature.kind === "embedding");
  const questions = asked.map(question);
  const token = plan.ids === "token" ? tokenQuestion(invitation) : null;
  const button = make("button", { type: "submit" }, "Make my report");
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
    make("div", { class: "questions" }, ...(token ? [token.element] : []), ...questions.map(({ element }) => element)),
    make(
      "div",
      { class: "actions" },
      button,
      make("p", { class: "small" }, "Nothing is sent yet. The report is drawn once and for good: a second draw would give more away. Check your answers first."),
    ),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wrong = form.querySelector("#token:invalid");
    if (wrong) {
      wrong.setAttribute("aria-invalid", "true");
      wrong.focus();
      say("The invitation has 32 letters (a to f) and digits.");
      return;
    }
    say("");
    const record = {};
    asked.forEach((feature, i) => {
      const value = questions[i].read();
      if (value !== undefined) Object.defineProperty(record, feature.name, { value, enumerable: true });
    });
    button.disabled = true;
    try {
      const bytes = await ledger.answer(plan, record, token ? { token: token.read() } : {});
      showReport(plan, bytes, record);
    } catch (error) {
      button.disabled = false;
      refuse(error);
    }
  });
  return make("section", { class: "card box" }, form);
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
  const limit = Math.exp(plan.epsilon);
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
      make("b", { id: "least" }, least), " and ", make("b", { id: "most" }, most), " times that chance; never more than ", make("b", {}, times(Math.ceil(limit * 100) / 100)), ` times, which is the promise (e to the power of ε = ${plan.epsilon}).`),
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
  say("Sending…");
  const reason = await post("reports", bytes);
  if (reason === null) return;
  if (reason) {
    say(REASONS[reason] ?? "The report was not taken in.");
    return;
  }
  say("");
  showReceipt(plan, bytes);
}

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
      show(note("Your report is withdrawn", "It does not count, and never will, even if it is sent again. Thank you for telling us."));
    }),
  );
  return box;
}

function showReceipt(plan, bytes) {
  const closes = plan.collection?.closes;
  const until = closes ? ` (${new Date(1000 * closes).toLocaleString("en", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" })} UTC)` : "";
  show(
    make(
      "section",
      { class: "card box", id: "done" },
      heading("Thank you: your report counts"),
      make("p", {}, "It is stored durably, once, however often it is sent. This is your receipt. Keep it if you may want to take the report back."),
      ...receiptParts(plan, bytes),
      make("h3", {}, "To withdraw"),
      make("p", {}, `Until the study closes${until}, the receipt withdraws the report, without a reason: here, from this browser, or from anywhere with `, make("code", {}, "coterie withdraw"), ". Whoever has the receipt can do it, so keep it to yourself."),
      withdrawal(plan, bytes),
      make("p", { class: "after" }, make("a", { href: "study" }, "See how the study is going")),
    ),
  );
}

/** A second visit: the same report, to be sent again or withdrawn. */
function welcomeBack(plan, entry) {
  const day = new Date(864e5 * entry.day).toLocaleDateString("en", { dateStyle: "long", timeZone: "UTC" });
  const send = make("button", { type: "button", id: "send" }, "Send it again");
  send.addEventListener("click", () => busy(send, () => sendReport(plan, entry.answer)));
  show(
    make(
      "section",
      { class: "card box", id: "again" },
      heading("You have answered this study"),
      make("p", {}, `This browser made your report on ${day}. It makes one per study, ever: a second would give more away. If it did not arrive, send the same one again; if it did, that changes nothing.`),
      bytesOf(plan, entry.answer),
      make("div", { class: "row" }, send),
      make("h3", {}, "Your receipt"),
      ...receiptParts(plan, entry.answer),
      make("h3", {}, "To withdraw"),
      withdrawal(plan, entry.answer),
    ),
    { focus: false },
  );
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

async function start() {
  const id = /\/plans\/([0-9a-f]{64})\//.exec(location.pathname)?.[1];
  const invitation = /^#([0-9a-fA-F]{32})$/.exec(location.hash)?.[1] ?? "";
  if (invitation) history.replaceState(null, "", location.pathname); // it is as good as a key
  const [text, status] = await Promise.all([
    fetch(`../${id}`, { credentials: "omit" }).then((answer) => answer.text()),
    fetch("status", { credentials: "omit", cache: "no-store" }).then((answer) => answer.json()),
  ]);
  const plan = readPlan(text, id);
  const entry = (await ledger.entries()).find((one) => one.plan === plan.id);
  if (entry) return welcomeBack(plan, entry);
  if (status.state !== "open") return show(note(...closedWords(status.state)), { focus: false });
  if (!plan.features) {
    return show(note("This study has no form", "Its plan asks for a point, a list of numbers that an app computes, and not for answers that a person can type. Take part with the app that the study names; nothing can be sent from here."), { focus: false });
  }
  if (plan.features.features.every((feature) => feature.kind === "embedding")) {
    return show(note("This study cannot be answered with a form", "All that its plan asks for are lists of numbers that an app computes, say from a text or a picture. Take part with the app that the study names; nothing can be sent from here."), { focus: false });
  }
  const spent = (await ledger.spent()).epsilon;
  if (plan.epsilon > DEFAULT_POLICY.maxEpsilon || spent + plan.epsilon > DEFAULT_POLICY.totalEpsilon) {
    return show(
      note(
        "Your browser declines",
        `This plan may learn ε = ${plan.epsilon} about you. This browser gives at most ${DEFAULT_POLICY.maxEpsilon} to one plan and ${DEFAULT_POLICY.totalEpsilon} to all together, of which ${spent} are spent. Nothing was drawn and nothing was sent.`,
      ),
      { focus: false },
    );
  }
  return show(askFor(plan, invitation), { focus: false });
}

start().catch(refuse);
