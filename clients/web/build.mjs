/** Writes the bundle twice, for npm and for the Python package, and beside them the inner parts for tests of other languages. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { bundle, CARRIED } from "./bundle.mjs";

const published = await bundle("src/index.ts");
for (const [path, contents] of [
  ["dist/coterie.js", published],
  [CARRIED, published],
  ["build/internal.js", await bundle("src/internal.ts")], // never published
]) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, contents);
}
