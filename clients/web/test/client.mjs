/**
 * The client as a command, for audits and tests of other languages: one line in, one line out.
 *
 *     node client.mjs plan.json            answers as JSON in, what would be sent in hex out (dist/coterie.js)
 *     node client.mjs --given plan.json    {"answer", "id", "draw"} in: the same with coins that are given (build/internal.js)
 *     node client.mjs --read               plans as JSON texts in, their ids or "refused" out (dist/coterie.js)
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const mode = process.argv[2];
const given = mode === "--given";
const coterie = await import(given ? "../build/internal.js" : "../dist/coterie.js");
const { mixing } = await import("../dist/mixing.js");
const plan = mode === "--read" ? undefined : coterie.readPlan(readFileSync(process.argv[given ? 3 : 2]), undefined, mixing);
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

const out = [];
for await (const line of createInterface({ input: process.stdin })) out.push(`${answered(JSON.parse(line))}\n`);
process.stdout.write(out.join(""));
