/** The golden files that every client is held to. */
import { readFileSync } from "node:fs";
import type { Json } from "../src/json.js";

interface Case {
  point?: (number | string)[];
  record?: string;
  doubles?: Record<string, string>;
  id: string;
  draw: number;
  report: string;
  rank: number;
  index: number;
  [step: string]: unknown;
}

export interface Vectors {
  good: { name: string; plan: string; plan_id: string; randomness_key: string; draw_below: number; cases: Case[] }[];
  tokens: { plan: string; token: string; id: string; mark: string }[];
  bad: { name: string; plan: string; error: string; point?: (number | string)[]; reports?: string }[];
}

export interface RecordVectors {
  good: {
    name: string;
    schema: string;
    radius: number;
    cases: { record: string; doubles?: Record<string, string>; point: number[]; quantized: number[] }[];
  }[];
  bad: { name: string; schema: string; about: string }[];
  repeated_keys: { schema: string; record: string; point: number[] }[];
}

export interface StepVectors {
  logs: { x: number; log: number }[];
  circles: { n: number; cos: number; sin: number }[];
  projections: { q: number[]; projected: number; seen: number[] }[];
  draws: { bits: number; below: number; bytes: string; refused: number; draw: number }[];
}

export interface StudyVectors {
  studies: { name: string; plan: string; plan_id: string; radius: number; draw_below: number; cases: Case[] }[];
}

interface Text {
  name: string;
  text?: string;
  hex?: string;
  spaces?: number;
}

export interface PlanVectors {
  same: (Text & { canonical: string; plan_id: string })[];
  bad: Text[];
}

export interface ShuffleVectors {
  codeword: { plan: string; plan_id: string }[];
  vector_sums: { plan: string }[];
  bad_plans: { name: string; plan: string }[];
}

export interface PromiseVectors {
  amplified: { epsilon: number; local_epsilon: number; minimum_batch: number; delta: number }[];
}

/** A plan as it came: text, or bytes that are none. */
export function source({ text, hex, spaces }: Text): string | Uint8Array {
  if (hex !== undefined) return bytes(hex);
  return spaces === undefined ? (text as string) : (text as string).replace("…", " ".repeat(spaces));
}

export function load<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf-8")) as T;
}

export function bytes(digits: string): Uint8Array {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** A record from its JSON, with the doubles that JSON has not put in their places. */
export function record({ record, doubles = {} }: { record: string; doubles?: Record<string, string> }): Record<string, unknown> {
  const value = JSON.parse(record) as Record<string, unknown>;
  for (const [key, digits] of Object.entries(doubles)) value[key] = new DataView(bytes(digits).buffer).getFloat64(0);
  return value;
}

/** A plan as an object that a test may change, and back. */
export function changed(plan: string, change: (plan: Record<string, Json> & { parameters: Record<string, Json> }) => void): string {
  const object = JSON.parse(plan) as Record<string, Json> & { parameters: Record<string, Json> };
  change(object);
  return JSON.stringify(object);
}
