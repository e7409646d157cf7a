/**
 * The randomizer of protocol `codeword`.
 *
 * Given the public id, a point fixes some m of the N indices, its cap. Whatever the point, an index of the cap is sent with
 * probability A/T and any other with B/T, T = mA + (N-m)B: any two points' probabilities of any report differ by a factor of at
 * most A/B ≤ e^ε. Everything in {@link explain} decides only which m; a fault there costs accuracy, not privacy.
 *
 * @module
 */
import { below, randomBytes } from "./coins.js";
import { PointError, ReportError } from "./errors.js";
import { lift, locate, project, quantize, rotate, rotationKey, type View } from "./geometry.js";
import { mechanismOf, UNIT, type Mechanism, type Plan } from "./plan.js";
import { toPoint, type Person } from "./schema.js";
import { join, sha256 } from "./sha256.js";

/** A person's point, or where the plan has features their record. */
export type Answer = ArrayLike<number> | Person;

export const ID_BYTES = 12;
export const TOKEN_BYTES = 16;

/** Everything about a report but its draw. */
export interface Steps {
  quantized: number[];
  projected?: number[];
  row: number;
  flip: number;
  cell?: number;
  height?: number;
  sign: number;
  lifted: number[];
  rounded: number[];
  scores: number[];
  order: number[];
}

/** The report id and what has to be sent before the report. */
export function identity(plan: Plan, token?: Uint8Array): { id: Uint8Array; prefix: Uint8Array } {
  const { id } = mechanismOf(plan);
  if (plan.ids === "random") {
    if (token !== undefined) throw new ReportError("token: expected none, the plan's ids are random");
    return { id: randomBytes(ID_BYTES), prefix: new Uint8Array() };
  }
  if (!(token instanceof Uint8Array) || token.length !== TOKEN_BYTES) {
    throw new ReportError(`token: expected ${TOKEN_BYTES} bytes, the plan's ids follow from tokens`);
  }
  return { id: sha256("coterie/1/token-id", id, token).slice(0, ID_BYTES), prefix: token };
}

/** What leaves the device: the report, after the token if there is one. The coins are drawn before the work. */
export function upload(plan: Plan, answer: Answer, token?: Uint8Array): Uint8Array {
  const mechanism = mechanismOf(plan);
  const { id, prefix } = identity(plan, token);
  const draw = below(mechanism.total);
  return join(prefix, report(plan, answer, id, draw));
}

/** The report of an id and a draw from 0 to T-1. */
export function report(plan: Plan, answer: Answer, id: Uint8Array, draw: number): Uint8Array {
  const mechanism = mechanismOf(plan);
  const { order } = explain(mechanism, pointOf(plan, answer), id);
  const index = order[rank(mechanism, draw)] as number;
  return join(id, Uint8Array.from(plan.reportBytes === 13 ? [index] : [index >> 8, index & 0xff]));
}

/** The place in the order that a draw names: each of the first m with odds A, each other with odds B. */
export function rank({ cap, odds }: Mechanism, draw: number): number {
  return draw < cap * odds ? Math.floor(draw / odds) : cap + Math.floor((draw - cap * odds) / UNIT);
}

/** The point of an answer: d doubles. What is refused does not depend on the value of any feature. */
export function pointOf(plan: Plan, answer: Answer): ArrayLike<number> {
  if (Array.isArray(answer) || ArrayBuffer.isView(answer)) {
    const point = answer as ArrayLike<number>;
    if (point.length !== plan.dimension) throw new PointError(`point: expected ${plan.dimension} numbers`);
    for (let i = 0; i < point.length; i++) {
      if (typeof point[i] !== "number") throw new PointError(`point: expected ${plan.dimension} numbers`);
    }
    return point;
  }
  if (!plan.features) throw new PointError(`point: expected an array of ${plan.dimension} numbers`);
  if (typeof answer !== "object" || answer === null) throw new PointError("record: expected an object");
  return toPoint(plan.features, answer as Person);
}

/** All indices in the order of a point, and how it comes about. */
export function explain(mechanism: Mechanism, point: ArrayLike<number>, id: Uint8Array): Steps {
  const { codewords, embedding } = mechanism;
  const blocks = mechanism.stream(id, 0, 1 + (codewords * embedding) / 128);
  const quantized = quantize(point, mechanism.center, mechanism.radius);
  const { number, mask, row, flip } = choose(mechanism, blocks);
  const seen = mechanism.directions ? project(quantized, mechanism.directions) : quantized;
  const { side, ...where } = locate(seen, mechanism.views[number] as View, number, mask, mechanism.id);
  const sign = flip ? -side : side;

  const lifted = lift(seen, mechanism.countWeight);
  const step = 1 << Math.ceil((3 * (31 - Math.clz32(embedding)) - 5) / 2); // 2^h
  const rounded = Array.from(rotate(lifted, embedding, rotationKey("embedding", mechanism.id)), (y) => Math.floor((y + step / 2) / step));
  const scores = correlate(blocks.subarray(16), rounded).map((score) => sign * score);
  const order = scores.map((_, i) => i).sort((i, j) => (scores[j] as number) - (scores[i] as number) || i - j);
  return { quantized, ...(mechanism.directions && { projected: seen }), row, flip, ...where, sign, lifted, rounded, scores, order };
}

/** Σ_j ±r_j for each codeword, a bit 1 meaning +1: by tables of what each byte in each place adds up to. */
function correlate(codewords: Uint8Array, r: readonly number[]): number[] {
  const places = r.length / 8;
  const table = new Float64Array(256 * places);
  for (let place = 0; place < places; place++) {
    const start = 256 * place;
    for (let bit = 0; bit < 8; bit++) (table[start] as number) -= r[8 * place + bit] as number; // all bits 0
    for (let byte = 1; byte < 256; byte++) {
      const rest = byte & (byte - 1); // without its lowest bit
      const lowest = 7 - (31 - Math.clz32(byte ^ rest));
      table[start + byte] = (table[start + rest] as number) + 2 * (r[8 * place + lowest] as number);
    }
  }
  return Array.from({ length: codewords.length / places }, (_, i) => {
    let score = 0;
    for (let place = 0; place < places; place++) {
      score += table[256 * place + (codewords[i * places + place] as number)] as number;
    }
    return score;
  });
}

/** What the first block of an id's stream decides. */
function choose({ views, tickets }: Mechanism, block: Uint8Array): { number: number; mask: number; row: number; flip: number } {
  let ticket = (block[5] as number) % tickets;
  let number = 0;
  let before = 0; // rows of the views before
  for (let view = views[0] as View; ticket >= view.weight; view = views[number] as View) {
    ticket -= view.weight;
    before += view.rows;
    number++;
  }
  const mask = new DataView(block.buffer, block.byteOffset).getUint32(0) % (views[number] as View).rows;
  return { number, mask, row: before + mask, flip: (block[4] as number) & 1 };
}
