/**
 * The operator's console: lists studies, says what to do next, and does it, by the same API as everything else.
 *
 * The token stays in this tab (sessionStorage) and goes out as a header, so no other site can make a browser use it. Texts of plans and
 * sheets are only ever set as text.
 */
const KEY = "coterie-operator-token";
const SECONDS = 10;
const RECEIPT = /^coterie-receipt-1\.([0-9a-f]{64})\.((?:[0-9a-f]{2})+)$/;
const ACTIONS = {
  invite: { label: "Invite", path: "invitations", title: "Invite people", words: "Each link is good for one report. The server keeps marks of them and not the links: save them now." },
  close: { label: "Close", path: "close", title: "Close this study for good?", words: "Nothing more is taken in or withdrawn afterwards, and it cannot be opened again." },
  decode: { label: "Decode", path: "decode" },
  next: { label: "Next wave", title: "Ask other people in a next wave?", words: "A plan that follows from what was found is made and opened; nobody who answered before is asked again. Its window and minimum can be chosen with coterie waves next." },
  delete: { label: "Delete reports", path: "reports", method: "DELETE", danger: true, title: "Delete all reports of this study?", words: "They are gone for good. Its plan and what it found stay; a study that can be decoded is decoded first." },
};

const by = (id) => document.getElementById(id);
const number = (value) => value.toLocaleString("en");
const say = (words) => {
  by("state").textContent = words;
};
let shown = "";

async function ask(method, path, { body, type, wait } = {}) {
  const headers = { authorization: `Bearer ${sessionStorage.getItem(KEY)}` };
  if (type) headers["content-type"] = type;
  if (wait) headers.prefer = `wait=${wait}`;
  const answer = await fetch(path, { method, body, headers, credentials: "omit", cache: "no-store", redirect: "error" }).catch(() => {
    throw new Error("The server does not answer. Nothing is known to have happened; look again.");
  });
  if (answer.status === 401) {
    signOut();
    throw new Error("This is not the operator’s token.");
  }
  const value = answer.status === 204 ? {} : await answer.json();
  if (!answer.ok) throw new Error(`${value.title}: ${value.detail}`);
  return value;
}

// ---------------------------------------------------------------- signing in

function signOut() {
  sessionStorage.removeItem(KEY);
  by("studies").replaceChildren();
  shown = "";
  show();
}

function show() {
  const inside = sessionStorage.getItem(KEY) !== null;
  by("console").hidden = !inside;
  by("sign-in").hidden = inside;
  document.querySelector(".about-server").hidden = inside;
  by("operator").textContent = inside ? "Studies" : "If you run it";
}

async function look() {
  const { studies } = await ask("GET", "studies");
  show();
  const text = JSON.stringify(studies);
  if (text === shown) return;
  shown = text;
  const focused = document.activeElement?.dataset.key;
  by("studies").replaceChildren(...(studies.length ? studies.map(card) : [nothing()]));
  if (focused) document.querySelector(`[data-key="${focused}"]`)?.focus();
}

function nothing() {
  const words = document.createElement("p");
  words.textContent = "There is no study yet: open one below.";
  return words;
}

// ---------------------------------------------------------------- a study

function card(study) {
  const one = by("study").content.cloneNode(true);
  const put = (name, text) => {
    one.querySelector(`[data-put="${name}"]`).textContent = text;
  };
  for (const name of ["words", "title", "next"]) put(name, study[name]);
  put("reports", `about ${number(study.reports)} of ${number(study.expected_users)} people`);
  put("short", study.plan_id.slice(0, 12));
  put("label", study.label === null ? "" : ` · ${study.label}`);
  for (const link of one.querySelectorAll("[data-link]")) {
    link.href = `plans/${study.plan_id}/${link.dataset.link}`;
    if (link.dataset.link === "participate") link.hidden = !study.form;
  }
  for (const [place, name] of study.actions.entries()) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: ACTIONS[name].label, className: place ? "quiet" : "" });
    button.dataset.key = `${name}-${study.plan_id}`;
    button.setAttribute("aria-label", `${ACTIONS[name].label}: ${study.title}`);
    button.addEventListener("click", () => attempt(() => act(name, study)));
    one.querySelector(".row").append(button);
  }
  return one;
}

async function act(name, study) {
  const { path, method = "POST", title, words } = ACTIONS[name];
  const address = `plans/${study.plan_id}/${path}`;
  by("dialog-number").value = name === "next" ? study.expected_users : 10;
  if (title && !(await agreed(name, `${study.title}. ${words}`, title))) return;
  if (name === "invite") return invite(address, study);
  if (name === "next") return nextWave(study);
  if (name === "decode") say("It is being decoded; that may take minutes.");
  await ask(method, address, { wait: 1 });
  say({ close: "The study is closed.", decode: "Decoding goes on here; the list says when it is done.", delete: "The reports are deleted." }[name]);
  await look();
}

async function nextWave(study) {
  const asked = { expected_users: Number(by("dialog-number").value), confirm: by("dialog-confirm").checked };
  say("The next plan is being made; that may take a minute.");
  const plan = await ask("POST", `studies/${study.study_id}/next`, { body: JSON.stringify(asked), type: "application/json", wait: 60 });
  say(plan.state === "decoding" ? "It takes longer. Press “Next wave” again in a while: the same is asked once." : "The next wave is open.");
  await look();
}

async function invite(address, study) {
  const count = Number(by("dialog-number").value);
  const { tokens } = await ask("POST", address, { body: JSON.stringify({ count }), type: "application/json" });
  const page = new URL(`plans/${study.plan_id}/participate`, document.baseURI).href;
  const text = `${tokens.map((token) => `${page}#${token}`).join("\n")}\n`;
  by("links").value = text;
  by("dialog-save").href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  await agreed("links", `${study.title}. Hand each link to one person.`, `${number(tokens.length)} invitations`);
  URL.revokeObjectURL(by("dialog-save").href);
  by("links").value = "";
  say(`${number(tokens.length)} invitations were issued.`);
}

/** Ask in a dialog; resolve to whether the answer was yes. */
function agreed(name, words, title) {
  const dialog = by("dialog");
  by("dialog-title").textContent = title;
  by("dialog-words").textContent = words;
  by("dialog-field").hidden = !["invite", "next"].includes(name);
  by("dialog-wave").hidden = name !== "next";
  for (const id of ["dialog-links", "dialog-save"]) by(id).hidden = name !== "links";
  by("dialog-yes").hidden = name === "links";
  by("dialog-yes").textContent = ACTIONS[name]?.label ?? "";
  by("dialog-yes").className = ACTIONS[name]?.danger ? "danger" : "";
  by("dialog-no").textContent = name === "links" ? "Done" : "Leave it as it is";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}

// ---------------------------------------------------------------- what the page is asked

async function attempt(work) {
  try {
    await work();
  } catch (error) {
    say(error.message);
  }
}

function on(form, work) {
  by(form).addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(work);
  });
}

on("sign-in", async () => {
  sessionStorage.setItem(KEY, by("token").value.trim());
  by("token").value = "";
  say("");
  await look();
});
on("open", async () => {
  const data = new Uint8Array(await by("plan").files[0].arrayBuffer());
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  const id = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const label = by("label")?.value.trim();
  const study = label ? JSON.parse(new TextDecoder().decode(data)).study : null; // none: its study's first plan
  if (study === null) await ask("PUT", `plans/${id}`, { body: data, type: "application/json" });
  if (label) await ask("PUT", `studies/${study ?? id}/plans/${encodeURIComponent(label)}`, { body: data, type: "application/json" });
  by("open").reset();
  say("The study is open.");
  await look();
});
on("withdraw", async () => {
  const found = RECEIPT.exec(by("receipt").value.trim());
  if (!found) throw new Error("This is no receipt: it starts with coterie-receipt-1. and has three parts.");
  const body = Uint8Array.from(found[2].match(/../g), (byte) => parseInt(byte, 16));
  const { failures } = await ask("POST", `plans/${found[1]}/withdrawals`, { body, type: "application/vnd.coterie.reports" });
  if (failures.length) throw new Error(`It could not be withdrawn: ${failures[0].reason}.`);
  by("withdraw").reset();
  say("The report is withdrawn: it does not count, whatever is sent later.");
});
by("sign-out").addEventListener("click", () => {
  signOut();
  say("Signed out.");
  by("token").focus();
});
by("refresh").addEventListener("click", () => attempt(look));
by("dialog-yes").addEventListener("click", () => by("dialog").close("yes"));
by("dialog-no").addEventListener("click", () => by("dialog").close(""));
setInterval(() => {
  if (!document.hidden && !by("dialog").open && sessionStorage.getItem(KEY) !== null) attempt(look);
}, 1000 * SECONDS);

show();
if (sessionStorage.getItem(KEY) !== null) attempt(look);
