/** The published bundles, gzipped, must stay within their budgets. */
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const MOST = { "coterie.js": 10_000, "mixing.js": 1_000 }; // bytes
for (const [name, most] of Object.entries(MOST)) {
  const bundle = await readFile(new URL(`dist/${name}`, import.meta.url));
  const size = gzipSync(bundle, { level: 9 }).length;
  console.log(`dist/${name}: ${bundle.length} bytes, ${size} gzipped; at most ${most}`);
  if (size > most) process.exitCode = 1;
}
