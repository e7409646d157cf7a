/** Keeps the study's page up to date: asks for the status now and then, less often when nothing answers, not at all while hidden. */
const SECONDS = 10;
const MOST_SECONDS = 300;

const REASONS = ["malformed", "closed", "early", "full", "token"];
const STATES = { early: "Not open yet", open: "Open", closed: "Closed, not decoded yet", deleted: "Closed, and its reports deleted" };
const number = (value) => value.toLocaleString("en");
const percent = (share) => `${Math.round(100 * Math.max(share, 0))}%`;

function set(name, text) {
  for (const element of document.querySelectorAll(`[data-live="${name}"]`)) {
    if (element.textContent !== text) element.textContent = text;
  }
}

function forecast(found) {
  if (!found) return ["too few to say", ""];
  const range = `${percent(found.recovered)} (${percent(found.recovered_low)} to ${percent(found.recovered_high)})`;
  const error = `error ${found.objective.toFixed(2)} (${found.low.toFixed(2)} to ${found.high.toFixed(2)})`;
  return [`${range}${found.hopeless ? ": noise hides the groups" : ""}`, error];
}

function update(status) {
  set("reports", number(status.reports));
  set("state", status.decoded ? "Decoded" : status.decoding ? "Being decoded" : STATES[status.state]);
  for (const reason of REASONS) set(`rejected-${reason}`, number(status.rejected[reason]));
  for (const place of [0, 1]) {
    const [recovered, error] = forecast(status.expected.now?.[place]);
    set(`now-${place}`, recovered);
    set(`now-${place}-error`, error);
  }
  set("share", percent(status.reports / status.expected_users));
  const progress = document.querySelector("progress");
  progress.value = Math.min(status.reports, status.expected_users);
  document.title = `${number(status.reports)} reports so far: coterie`;
}

const decoded = !document.querySelector("h1 [data-live]"); // then nothing changes any more
let wait = SECONDS;
let timer;

async function ask() {
  try {
    const answer = await fetch("status", { credentials: "omit", cache: "no-store" });
    if (!answer.ok) throw new Error("no status");
    const status = await answer.json();
    if (status.decoded) return location.reload();
    update(status);
    wait = SECONDS;
  } catch {
    wait = Math.min(2 * wait, MOST_SECONDS);
  }
  return later();
}

function later() {
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(ask, 1000 * wait * (0.9 + 0.2 * Math.random()));
}

if (!decoded) {
  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : ask()));
  later();
}
