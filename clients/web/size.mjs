/** The published bundle, gzipped, must stay within its budget. */
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const MOST = 10_000; // bytes
const bundle = await readFile(new URL("dist/coterie.js", import.meta.url));
const size = gzipSync(bundle, { level: 9 }).length;
console.log(`dist/coterie.js: ${bundle.length} bytes, ${size} gzipped; at most ${MOST}`);
if (size > MOST) process.exitCode = 1;
