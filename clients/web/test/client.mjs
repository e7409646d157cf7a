/**
 * The client as a command, for audits and tests of other languages: one line in, one line out.
 *
 *     node client.mjs plan.json            answers as JSON in, what would be sent in hex out (dist/coterie.js)
 *     node client.mjs --given plan.json    {"answer", "id", "draw"} in: the same with coins that are given (build/internal.js)
 *     node client.mjs --read               plans as JSON texts in, their ids or "refused" out (dist/coterie.js)
 *     node client.mjs --send URL           answers in; each is sent by itself to the plan at this address, under the default policy; "sent" or
 *                                          the reason out (dist/coterie.js)
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const mode = process.argv[2];
const given = mode === "--given";
const AT_ONCE = 16; // people who send at the same time
const coterie = await import(given ? "../build/internal.js" : "../dist/coterie.js");
const { mixing } = await import("../dist/mixing.js");
const plan = ["--read", "--send"].includes(mode) ? undefined : coterie.readPlan(readFileSync(process.argv[given ? 3 : 2]), undefined, mixing);
const ANY = { maxEpsilon: 16, maxLocalEpsilon: 16, maxDelta: 1, shufflers: ["any"] };

function answered(value) {
  if (mode === "--read") {
    try {
      return coterie.readPlan(value, undefined, mixing).id;
    } catch (error) {
      if (error instanceof coterie.PlanError) return "refused";
      throw error;
    }
  }
  if (!given) return Buffer.from(coterie.encode(plan, value, { policy: ANY })).toString("hex");
  return Buffer.from(coterie.report(plan, value.answer, Buffer.from(value.id, "hex"), value.draw)).toString("hex");
}

/** Somebody's browser: reads the plan, makes one report, sends it. */
async function send(plan, address, answer) {
  const body = coterie.encode(plan, answer);
  const response = await fetch(`${address}/reports`, { method: "POST", headers: { "content-type": "application/vnd.coterie.reports" }, body });
  return (await response.json()).failures?.[0]?.reason ?? (response.ok ? "sent" : response.status);
}

const lines = [];
for await (const line of createInterface({ input: process.stdin })) lines.push(JSON.parse(line));
const out = [];
if (mode === "--send") {
  const address = process.argv[3];
  const text = await (await fetch(address)).text();
  const one = async () => {
    while (lines.length) {
      const answer = lines.pop();
      out.push(await send(coterie.readPlan(text, address.split("/").at(-1)), address, answer)); // each reads the plan for itself
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
} else out.push(...lines.map(answered));
process.stdout.write(out.map((line) => `${line}\n`).join(""));
