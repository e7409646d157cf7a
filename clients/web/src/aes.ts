/**
 * AES-128 (FIPS 197) on counters: the public stream of a report or a rotation.
 *
 * Table look-ups are not constant-time. That is no loss: key and blocks are public, the cipher serves as a public function
 * with random-looking output.
 *
 * @module
 */
import { turn } from "./sha256.js";

const SBOX = new Uint8Array(256);
const TABLE = new Uint32Array(256); // of a substituted byte s: 2s, s, s, 3s
for (let p = 1, q = 1, first = true; first || p !== 1; first = false) {
  p ^= double(p); // p runs through the field's powers of 3, q through their inverses
  q ^= q << 1;
  q ^= q << 2;
  q ^= q << 4;
  q = (q & 0xff) ^ (q & 0x80 ? 0x09 : 0);
  const s = q ^ spin(q, 1) ^ spin(q, 2) ^ spin(q, 3) ^ spin(q, 4) ^ 0x63;
  SBOX[p] = s;
}
SBOX[0] = 0x63;
SBOX.forEach((s, byte) => (TABLE[byte] = (double(s) << 24) | (s << 16) | (s << 8) | (double(s) ^ s)));

function double(x: number): number {
  return (x << 1) ^ (x & 0x80 ? 0x11b : 0);
}

function spin(x: number, by: number): number {
  return ((x << by) | (x >> (8 - by))) & 0xff;
}

/** Four bytes substituted; the arguments name, from the top, the word that each byte comes from. */
function substitute(a: number, b: number, c: number, d: number): number {
  return (
    ((SBOX[a >>> 24] as number) << 24) |
    ((SBOX[(b >>> 16) & 0xff] as number) << 16) |
    ((SBOX[(c >>> 8) & 0xff] as number) << 8) |
    (SBOX[d & 0xff] as number)
  );
}

/** One column of a round. */
function mix(a: number, b: number, c: number, d: number): number {
  return (
    (TABLE[a >>> 24] as number) ^
    turn(TABLE[(b >>> 16) & 0xff] as number, 8) ^
    turn(TABLE[(c >>> 8) & 0xff] as number, 16) ^
    turn(TABLE[d & 0xff] as number, 24)
  );
}

/** A cipher under one key: `count` blocks from number `first` on, each the encryption of `prefix ‖ uint32(number)`. */
export type Counter = (prefix: Uint8Array, first: number, count: number) => Uint8Array;

/** AES-128 on counters under a key of 16 bytes. */
export function counter(key: Uint8Array): Counter {
  const input = new DataView(key.buffer, key.byteOffset, 16);
  const keys = new Int32Array(44);
  for (let i = 0, constant = 1; i < 44; i++) {
    let word = i < 4 ? input.getInt32(4 * i) : (keys[i - 1] as number);
    if (i >= 4) {
      if (i % 4 === 0) {
        word = turn(word, 24);
        word = substitute(word, word, word, word) ^ (constant << 24);
        constant = double(constant);
      }
      word ^= keys[i - 4] as number;
    }
    keys[i] = word;
  }
  return (prefix, first, count) => {
    const start = new DataView(prefix.buffer, prefix.byteOffset, 12);
    const blocks = new DataView(new ArrayBuffer(16 * count));
    for (let block = 0; block < count; block++) {
      let a = start.getInt32(0) ^ (keys[0] as number);
      let b = start.getInt32(4) ^ (keys[1] as number);
      let c = start.getInt32(8) ^ (keys[2] as number);
      let d = (first + block) ^ (keys[3] as number);
      for (let i = 4; i < 40; i += 4) {
        const e = mix(a, b, c, d) ^ (keys[i] as number);
        const f = mix(b, c, d, a) ^ (keys[i + 1] as number);
        const g = mix(c, d, a, b) ^ (keys[i + 2] as number);
        d = mix(d, a, b, c) ^ (keys[i + 3] as number);
        a = e;
        b = f;
        c = g;
      }
      blocks.setInt32(16 * block, substitute(a, b, c, d) ^ (keys[40] as number));
      blocks.setInt32(16 * block + 4, substitute(b, c, d, a) ^ (keys[41] as number));
      blocks.setInt32(16 * block + 8, substitute(c, d, a, b) ^ (keys[42] as number));
      blocks.setInt32(16 * block + 12, substitute(d, a, b, c) ^ (keys[43] as number));
    }
    return new Uint8Array(blocks.buffer);
  };
}
