/**
 * From a point to integers, and what is done to them: quantization, lift, rotation, and the side of a view.
 *
 * Doubles are used up to {@link quantize} and in one scaling of the lift, each operation rounded by itself. Everything after
 * that is integers below 2⁵³ in size, held in doubles.
 *
 * @module
 */
import { counter } from "./aes.js";
import { PointError } from "./errors.js";
import { sha256 } from "./sha256.js";

const STEPS = 2 ** 20; // the ball's radius
const SQUARE = 2 ** 40;

/** A public partition of the ball, or a family of its halves. */
export type View =
  | { readonly cells: "cross-polytope"; readonly weight: number; readonly rows: number; readonly size: number }
  | { readonly cells: "net"; readonly weight: number; readonly rows: number; readonly points: readonly (readonly number[])[] }
  | { readonly cells: "halfspaces"; readonly weight: number; readonly rows: number; readonly offsets: readonly number[] };

/** A point of d doubles becomes d integers in a ball of 2²⁰ steps. Every finite point does, whatever the ball. */
export function quantize(point: ArrayLike<number>, center: readonly number[] | null, radius: number): number[] {
  const z = Array.from(point, (x, i) => {
    if (!Number.isFinite(x)) throw new PointError("point: expected finite numbers"); // which one is not said
    const scaled = (center ? x - (center[i] as number) : x) / radius;
    return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, scaled));
  });
  const largest = z.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  return drawnBack(z.map((x) => Math.floor((largest > 1 ? x / largest : x) * STEPS + 0.5)));
}

/** What directions see of a point of the grid, on the grid of their own ball. */
export function project(q: readonly number[], directions: readonly (readonly number[])[]): number[] {
  return drawnBack(
    directions.map((row) => Math.floor((row.reduce((sum, e, i) => sum + e * (q[i] as number), 0) + STEPS / 2) / STEPS)),
  );
}

function drawnBack(q: number[]): number[] {
  const square = norm2(q);
  const shrink = STEPS / Math.sqrt(square);
  return square > SQUARE ? q.map((x) => Math.trunc(x * shrink)) : q;
}

/** d integers become d + 2 of norm at most 2²⁰: a scaled point, the weight of the count, and what is left of the radius. */
export function lift(q: readonly number[], countWeight: number): number[] {
  const scale = Math.sqrt(SQUARE - countWeight * countWeight) / STEPS;
  const lifted = [...q.map((x) => Math.trunc(x * scale)), countWeight];
  return [...lifted, integerRoot(SQUARE - norm2(lifted))];
}

function norm2(vector: readonly number[]): number {
  return vector.reduce((total, x) => total + x * x, 0);
}

function integerRoot(square: number): number {
  let root = Math.floor(Math.sqrt(square));
  while (root * root > square) root--;
  while ((root + 1) * (root + 1) <= square) root++;
  return root;
}

/** The key of a plan's rotation; its first 16 bytes count. */
export function rotationKey(label: string, planId: Uint8Array): Uint8Array {
  return sha256(`coterie/1/rotation/${label}/`, planId);
}

/** Signs and a Walsh-Hadamard transform, twice, of a vector padded to `size`. */
export function rotate(vector: readonly number[], size: number, key: Uint8Array): Float64Array {
  const signs = counter(key)(new Uint8Array(12), 0, Math.ceil(size / 64));
  const y = new Float64Array(size);
  y.set(vector);
  for (let round = 0; round < 2; round++) {
    for (let j = 0; j < size; j++) {
      if (bit(signs, round * size + j)) y[j] = -(y[j] as number);
    }
    for (let half = 1; half < size; half *= 2) {
      for (let i = 0; i < size; i++) {
        if (i & half) continue;
        const a = y[i] as number;
        const b = y[i + half] as number;
        y[i] = a + b;
        y[i + half] = a - b;
      }
    }
  }
  return y;
}

/** Bit j of a byte string, from the most significant bit of the first byte. */
export function bit(bytes: Uint8Array, j: number): number {
  return ((bytes[j >> 3] as number) >> (7 - (j & 7))) & 1;
}

/** The least power of two that is at least `size`, itself one, and at least `least`. */
export function powerFrom(size: number, least: number): number {
  while (size < least) size *= 2;
  return size;
}

/** S, the length of the rotations of halfspaces. */
export function halfspaceSize(dimension: number): number {
  return powerFrom(128, dimension);
}

/** Where a point lies in a view: its `cell`, or its `height` over a halfspace; and the side, +1 or -1, for a mask. */
export function locate(
  q: readonly number[],
  view: View,
  number: number,
  mask: number,
  planId: Uint8Array,
): { cell?: number; height?: number; side: number } {
  if (view.cells === "halfspaces") {
    const size = halfspaceSize(q.length);
    const height = rotate(q, size, rotationKey(`view/${number}/${Math.floor(mask / size)}`, planId))[mask % size] as number;
    return { height, side: height >= (view.offsets[mask] as number) ? 1 : -1 };
  }
  let cell: number;
  if (view.cells === "net") {
    cell = leastIndex(view.points.map((p) => p.reduce((total, x, i) => total + x * (x - 2 * (q[i] as number)), 0)));
  } else {
    const y = rotate(q, powerFrom(view.size, q.length), rotationKey(`view/${number}`, planId)).subarray(0, view.size);
    const i = leastIndex(Array.from(y, (x) => -Math.abs(x)));
    cell = 2 * i + ((y[i] as number) < 0 ? 1 : 0);
  }
  let parity = cell & mask;
  for (let shift = 16; shift; shift >>= 1) parity ^= parity >> shift;
  return { cell, side: parity & 1 ? -1 : 1 };
}

function leastIndex(values: readonly number[]): number {
  let least = 0;
  values.forEach((value, i) => {
    if (value < (values[least] as number)) least = i;
  });
  return least;
}
