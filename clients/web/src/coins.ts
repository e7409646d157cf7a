/**
 * Secret coins, from `crypto.getRandomValues` and nowhere else.
 *
 * @module
 */

/** Random bytes of the operating system. */
export function randomBytes(count: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(count));
}

/**
 * An exactly uniform integer from 0 to `bound - 1`, for a bound from 1 to 2⁵³ - 1.
 *
 * Words of 53 bits at or above the largest multiple of the bound are refused and drawn again.
 */
export function below(bound: number): number {
  const limit = 2 ** 53 - (2 ** 53 % bound);
  for (;;) {
    const [high, low] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number];
    const word = (high >>> 11) * 2 ** 32 + low;
    if (word < limit) return word % bound;
  }
}
