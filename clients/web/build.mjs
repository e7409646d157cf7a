/** Writes each bundle twice, for npm and for the Python package, and beside them the inner parts for tests of other languages. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { bundle, CARRIED, PUBLISHED } from "./bundle.mjs";

const files = [["build/internal.js", await bundle("src/internal.ts")]]; // never published
for (const [name, entry] of Object.entries(PUBLISHED)) {
  const contents = await bundle(entry);
  files.push([`dist/${name}`, contents], [`${CARRIED}${name}`, contents]);
}
for (const [path, contents] of files) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, contents);
}
