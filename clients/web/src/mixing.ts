/**
 * What mixing promises: the δ of a shuffled batch of `codeword` reports, recomputed before a plan of the shuffle model is answered.
 *
 * One ε₀-private report among n is a bit, true with probability p = E/(E+1), E = e^ε₀, among C ~ Bin(n-1, 2/(E+1)) fair bits. The
 * batch is (ε, δ)-private for δ = Σ_c Pr[C = c]·δ_c (docs/theory/shuffle.md), where, t = ⌈β(c+1)⌉ and
 * Pr[Bin(c,½) ≥ t-1] = Pr[= t-1] + Pr[≥ t],
 *
 *     δ_c = (p - e^ε(1-p))·Pr[Bin(c,½) = t-1] - (e^ε - 1)·Pr[Bin(c,½) ≥ t].
 *
 * Rounding is outward: what is added is taken larger by {@link MARGIN}, what is subtracted smaller, what is cut off counts as δ = 1.
 * A module of its own, so that studies of the local model do not load it.
 *
 * @module
 */

/** What a plan of the shuffle model promises, and by what. */
export interface Promised {
  readonly epsilon: number;
  readonly delta: number;
  /** ε₀, of a report by itself. */
  readonly localEpsilon: number;
  /** n, the fewest people who are mixed. */
  readonly minimumBatch: number;
}

const MARGIN = 1e-11; // relative; single probabilities were seen to err by 10⁻¹³
const STEP = 1e-15; // more than the three roundings of a step from one probability to the next
const CUT = 1e-12; // share of δ that may be cut off at either end
const MOST = 2 ** 27; // people of a batch, a hundred million and some: for more a browser would compute for minutes, so it refuses
const STRETCHES = 2 ** 14; // values of C looked at; beyond that some are taken together, at the smallest, since δ_c falls

/**
 * Whether a batch keeps what the plan promises: what `readPlan` asks of plans of the shuffle model.
 *
 * @example
 * const plan = readPlan(text, id, mixing);
 */
export function mixing(promised: Promised): boolean {
  return promised.minimumBatch <= MOST && amplifiedDelta(promised) <= promised.delta;
}

/** An upper bound of the δ of a batch, within a relative 10⁻⁹ where C has up to 2¹⁴ likely values. */
export function amplifiedDelta({ epsilon, delta, localEpsilon, minimumBatch }: Promised): number {
  if (epsilon >= localEpsilon) return 0;
  const grown = Math.exp(localEpsilon) * (1 + MARGIN); // E, rounded up: a weaker promise
  const growth = Math.exp(epsilon);
  const chance = 2 / (grown + 1);
  const gain = (grown - growth) / (grown + 1);
  const beta = (growth * grown - 1) / ((grown - 1) * (growth + 1));
  const trials = minimumBatch - 1;
  const middle = Math.floor(trials * chance);

  const odds = chance / (1 - chance);
  const upward = (c: number) => ((trials - c) / (c + 1)) * odds; // Pr[C = c+1] / Pr[C = c]
  const masses: number[] = []; // from the lowest value that is looked at
  let outside = 0;
  let low = middle;
  const first = binomial(trials, middle, chance);
  for (let mass = first; ; low--) {
    masses.push(mass);
    const ratio = low > 0 ? 1 / upward(low - 1) : 0;
    if (ratio < 1 && (mass * ratio) / (1 - ratio) <= CUT * delta) {
      outside += (mass * ratio) / (1 - ratio);
      break;
    }
    mass *= ratio;
  }
  masses.reverse();
  for (let c = middle, mass = first; ; c++) {
    const ratio = upward(c);
    if (ratio < 1 && (mass * ratio) / (1 - ratio) <= CUT * delta) {
      outside += (mass * ratio) / (1 - ratio);
      break;
    }
    masses.push((mass *= ratio));
  }

  const stretch = Math.ceil(masses.length / STRETCHES);
  let inside = 0;
  for (let start = 0; start < masses.length; start += stretch) {
    const mass = masses.slice(start, start + stretch).reduce((sum, one) => sum + one);
    inside += mass * conditionalDelta(low + start, gain, growth, beta);
  }
  return Math.min(1, (inside + outside) * (1 + MARGIN + STEP * masses.length));
}

/** δ_c, rounded up. */
function conditionalDelta(c: number, gain: number, growth: number, beta: number): number {
  const t = Math.min(Math.max(Math.ceil(beta * (c + 1)), 1), c + 1); // one off costs nothing
  const single = binomial(c, t - 1, 0.5);
  let tail = 0; // Pr[Bin(c,½) ≥ t], its small end left out
  for (let k = t, mass = (single * (c - t + 1)) / t; mass > 1e-18 * tail; k++) {
    tail += mass;
    mass *= (c - k) / (k + 1);
  }
  return Math.max(0, gain * single * (1 + MARGIN) - (growth - 1) * tail * (1 - MARGIN));
}

/** Pr[Bin(n, p) = k], by its saddle point (Loader 2000): no large terms cancel. */
function binomial(n: number, k: number, p: number): number {
  if (k === 0) return Math.exp(n * Math.log1p(-p));
  if (k === n) return Math.exp(n * Math.log(p));
  const exponent = stirling(n) - stirling(k) - stirling(n - k) - deviance(k, n * p) - deviance(n - k, n * (1 - p));
  return Math.exp(exponent) * Math.sqrt(n / (2 * Math.PI * k * (n - k)));
}

/** ln n! less Stirling's formula. */
function stirling(n: number): number {
  if (n < 16) {
    let factorial = 1;
    for (let i = 2; i <= n; i++) factorial *= i;
    return Math.log(factorial / Math.sqrt(2 * Math.PI * n)) - n * (Math.log(n) - 1);
  }
  const s = 1 / (n * n);
  return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / n;
}

/** x·ln(x/m) + m - x. */
function deviance(x: number, m: number): number {
  const v = (x - m) / (x + m);
  if (Math.abs(v) >= 0.1) return x * Math.log(x / m) + m - x;
  let sum = (x - m) * v;
  let term = 2 * x * v;
  for (let j = 3, before = NaN; sum !== before; j += 2) {
    before = sum;
    term *= v * v;
    sum += term / j;
  }
  return sum;
}
