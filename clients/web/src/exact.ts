/**
 * Privacy figures in exact arithmetic. A double is an integer over 2¹⁰⁷⁴; sums and comparisons are of those integers.
 *
 * @module
 */

const UNIT_BITS = 1074n;

/** A double ≥ 0 as the integer x·2¹⁰⁷⁴, without rounding. */
export function exact(x: number): bigint {
  const bits = toBits(x);
  const exponent = bits >> 52n;
  const fraction = bits & ((1n << 52n) - 1n);
  return exponent ? (fraction | (1n << 52n)) << (exponent - 1n) : fraction;
}

/** The exact sum of doubles ≥ 0, over 2¹⁰⁷⁴. */
export function sum(values: readonly number[]): bigint {
  return values.reduce((total, value) => total + exact(value), 0n);
}

/** The sum of doubles ≥ 0 as a double, rounded up. */
export function sumUp(values: readonly number[]): number {
  const total = sum(values);
  let low = 0n; // by bisection over the doubles, whose bits have their order
  let high = 0x7ff0000000000000n;
  while (low < high) {
    const middle = (low + high) / 2n;
    if (exact(fromBits(middle)) >= total) high = middle;
    else low = middle + 1n;
  }
  return fromBits(low);
}

/**
 * ⌊e^ε·2²⁴⌋ for the exact value of the double ε, 0 < ε ≤ 16: the largest odds that keep ε.
 *
 * The series Σ εⁱ/i! in fixed point, each term rounded down for a lower sum and up for an upper one; once i ≥ 2ε the
 * last upper term bounds the rest. Where the two sums disagree the precision doubles.
 */
export function largestOdds(epsilon: number): number {
  const p = exact(epsilon);
  for (let bits = 64n; ; bits *= 2n) {
    let lowTerm = 1n << bits;
    let highTerm = lowTerm;
    let low = lowTerm;
    let high = lowTerm;
    for (let i = 1n; ; i++) {
      const q = i << UNIT_BITS;
      lowTerm = (lowTerm * p) / q;
      highTerm = (highTerm * p + q - 1n) / q;
      low += lowTerm;
      high += highTerm;
      if (q >= 2n * p && highTerm <= 1n) break;
    }
    high += highTerm;
    const floor = low >> (bits - 24n);
    if (floor === high >> (bits - 24n)) return Number(floor);
  }
}

const VIEW = new DataView(new ArrayBuffer(8));

export function toBits(x: number): bigint {
  VIEW.setFloat64(0, x);
  return VIEW.getBigUint64(0);
}

export function fromBits(bits: bigint): number {
  VIEW.setBigUint64(0, bits);
  return VIEW.getFloat64(0);
}
