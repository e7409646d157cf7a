/** What is published: these names, these bytes, and no way to give coins. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { bundle, CARRIED, PUBLISHED } from "../bundle.mjs";

const NAMES = [
  "CoterieError", "DEFAULT_POLICY", "Ledger", "LedgerError", "PlanError", "PointError", "PolicyError", "ReportError", "chance", "encode", "readPlan",
];

test.each(Object.entries(PUBLISHED))("the Python package carries %s of this source", async (name, entry) => {
  const carried = await readFile(`${CARRIED}${name}`, "utf-8").catch(() => "nothing");
  const built = new TextDecoder().decode(await bundle(entry));
  expect(carried === built, "stale: `npm run build` writes it anew").toBe(true);
});

test("exports what is public, and nothing else", async () => {
  const source = Buffer.from(await bundle("src/index.ts")).toString("base64");
  const module = (await import(/* @vite-ignore */ `data:text/javascript;base64,${source}`)) as object;
  expect(Object.keys(module).sort()).toEqual(NAMES);
});

test("has one source of coins, writes to no console and calls no network", async () => {
  const source = new TextDecoder().decode(await bundle("src/index.ts"));
  expect(source.match(/getRandomValues/g)).toHaveLength(2);
  expect(source).not.toMatch(/Math\.random|console\.|fetch\(|XMLHttpRequest|eval\(|new Function|localStorage/);
});
