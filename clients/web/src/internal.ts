/**
 * The parts that tests look at: coins that are given, and every step between. Never in the published bundle, whose entry is index.ts.
 *
 * @module
 */
export * from "./index.js";
export { counter } from "./aes.js";
export { below } from "./coins.js";
export { explain, identity, pointOf, rank, report } from "./codeword.js";
export { exact, largestOdds, sumUp } from "./exact.js";
export { quantize } from "./geometry.js";
export { canonical, readObject } from "./json.js";
export { amplifiedDelta, mixing } from "./mixing.js";
export { mechanismOf } from "./plan.js";
export { checkPolicy } from "./policy.js";
export { circle, log2, project, readSchema, toPoint } from "./schema.js";
export { hex, sha256 } from "./sha256.js";
