/**
 * SHA-256 (FIPS 180-4). WebCrypto has one, but not synchronously and not in insecure contexts; it names plans and derives
 * public keys here, and hides nothing.
 *
 * @module
 */

/** ⌊p^(1/degree)·2³²⌋ mod 2³², the first fractional bits of a root, by bisection in integers. */
function rootBits(prime: number, degree: number): number {
  const target = BigInt(prime) << BigInt(32 * degree);
  let root = 0n;
  for (let bit = 1n << 40n; bit; bit >>= 1n) {
    if ((root | bit) ** BigInt(degree) <= target) root |= bit;
  }
  return Number(root & 0xffffffffn);
}

const PRIMES: number[] = [];
for (let candidate = 2; PRIMES.length < 64; candidate++) {
  if (PRIMES.every((prime) => candidate % prime)) PRIMES.push(candidate);
}
const START = PRIMES.slice(0, 8).map((prime) => rootBits(prime, 2));
const ROUND = PRIMES.map((prime) => rootBits(prime, 3));

/** The digest of the parts' bytes, joined. */
export function sha256(...parts: (Uint8Array | string)[]): Uint8Array {
  const message = join(...parts);
  const length = message.length;
  const padded = new Uint8Array(((length + 72) >> 6) << 6); // 0x80, zeros, eight bytes of length
  padded.set(message);
  padded[length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, length / 2 ** 29);
  view.setUint32(padded.length - 4, length << 3);

  const state = Int32Array.from(START);
  const w = new Int32Array(64);
  for (let start = 0; start < padded.length; start += 64) {
    let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < 64; i++) {
      if (i < 16) w[i] = view.getInt32(start + 4 * i);
      else {
        const x = w[i - 15] as number;
        const y = w[i - 2] as number;
        w[i] = (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10)) + (w[i - 7] as number) + (w[i - 16] as number);
      }
      const t = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + (ROUND[i] as number) + (w[i] as number)) | 0;
      const u = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + t) | 0, c, b, a, (t + u) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => ((state[i] as number) += word));
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => digest.setInt32(4 * i, word));
  return new Uint8Array(digest.buffer);
}

/** Bits turned to the right. */
export function turn(x: number, by: number): number {
  return (x >>> by) | (x << (32 - by));
}

/** Byte strings, and texts in ASCII, one after the other. */
export function join(...parts: (Uint8Array | string)[]): Uint8Array {
  const bytes = parts.map((part) => (typeof part === "string" ? new TextEncoder().encode(part) : part));
  const joined = new Uint8Array(bytes.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of bytes) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Bytes as lower-case hex digits. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
