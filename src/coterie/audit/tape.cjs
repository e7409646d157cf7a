// Coins that were written down before, in place of those of node: the same as tape.py.
const { createHash } = require("node:crypto");
const crypto = require("node:crypto");
const { writeFileSync } = require("node:fs");
const { COTERIE_AUDIT_SEED, COTERIE_AUDIT_OTHER, COTERIE_AUDIT_KEPT, COTERIE_AUDIT_NOTE } = process.env;
const kept = COTERIE_AUDIT_KEPT.split(",").filter(Boolean).map((each) => each.split("-").map(Number));
let drawn = 0;
const tell = () => writeFileSync(COTERIE_AUDIT_NOTE, String(drawn));
function number(value) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}
function written(seed, start, count) {
  const blocks = [], first = Math.floor(start / 32);
  for (let i = first; i < Math.ceil((start + count) / 32); i++)
    blocks.push(createHash("sha256").update(number(seed)).update(number(i)).digest());
  return Buffer.concat(blocks).subarray(start - 32 * first, start - 32 * first + count);
}
function take(count) {
  const start = drawn, own = written(COTERIE_AUDIT_SEED, start, count);
  drawn += count;
  tell();
  if (COTERIE_AUDIT_OTHER === "") return own;
  const taken = Buffer.from(written(COTERIE_AUDIT_OTHER, start, count));
  for (const [first, last] of kept) {
    const low = Math.max(first - start, 0), high = Math.min(last - start, count);
    if (low < high) own.copy(taken, low, low, high);
  }
  return taken;
}
function fill(array) {
  const bytes = ArrayBuffer.isView(array) ? new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
    : new Uint8Array(array);
  bytes.set(take(bytes.length));
  return array;
}
tell();
crypto.randomBytes = (count, then) => (then ? then(null, take(count)) : take(count));
crypto.randomFillSync = fill;
crypto.getRandomValues = fill;
crypto.webcrypto.getRandomValues = fill;
Object.getPrototypeOf(globalThis.crypto).getRandomValues = fill;
require("node:module").syncBuiltinESMExports();
