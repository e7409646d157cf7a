/** One ES module of everything behind an entry; the same source gives the same bytes. */
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** What is published, by its name: the client, and what only plans of the shuffle model need. */
export const PUBLISHED = { "coterie.js": "src/index.ts", "mixing.js": "src/mixing.ts" };

/** Where the Python package carries it, for the services' pages. */
export const CARRIED = fileURLToPath(new URL("../../src/coterie/service/pages/static/", import.meta.url));

export async function bundle(entry) {
  const { outputFiles } = await build({
    absWorkingDir: FOLDER,
    banner: { js: "// coterie-client, Apache-2.0" },
    bundle: true,
    charset: "utf8",
    entryPoints: [entry],
    format: "esm",
    legalComments: "none",
    minify: true,
    target: "es2022",
    write: false,
  });
  return outputFiles[0].contents;
}
