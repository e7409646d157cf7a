/**
 * JSON as plans are read and written: strictly, and in one canonical form (RFC 8785).
 *
 * `JSON.parse` decides what is JSON. It hides three things that matter here: a key that occurs twice, how a number was
 * spelt (`8.0` is no integer), and numbers beyond a double. So the text is walked once more.
 *
 * @module
 */
import { PlanError } from "./errors.js";

/** A number that was not spelt as an integer below 2⁵³ in size. */
export class Real {
  constructor(readonly value: number) {}
}

export type Json = null | boolean | string | number | Real | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

const MOST_BYTES = 2 ** 22;
const MOST_DEPTH = 8;
const MOST_DIGITS = 32;
const TOKEN = /[ \t\n\r]*([[\]{}:,]|"[^"\\]*(?:\\.[^"\\]*)*"|[^ \t\n\r[\]{}:,"]+)/y;

/** Reads one JSON object from text or UTF-8 bytes. */
export function readObject(source: string | Uint8Array): JsonObject {
  let text: string;
  try {
    if ((typeof source === "string" ? new TextEncoder().encode(source) : source).length > MOST_BYTES) {
      throw new PlanError(`plan: longer than ${MOST_BYTES} bytes`);
    }
    text = typeof source === "string" ? source : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(source);
    JSON.parse(text);
  } catch (error) {
    throw error instanceof PlanError ? error : new PlanError("plan: not JSON in UTF-8"); // the parser's message quotes the text
  }
  if (/\p{Surrogate}/u.test(text)) throw new PlanError("plan: not UTF-8, a surrogate stands alone");
  TOKEN.lastIndex = 0;
  const value = readValue(text, 0);
  if (!isObject(value)) throw new PlanError("plan: expected a JSON object");
  return value;
}

function token(text: string): string {
  return (TOKEN.exec(text) as RegExpExecArray)[1] as string; // the text is JSON
}

function readValue(text: string, depth: number, first = token(text)): Json {
  if (first === "{" || first === "[") {
    if (depth === MOST_DEPTH) throw new PlanError(`plan: nested deeper than ${MOST_DEPTH}`);
    return first === "{" ? readMembers(text, depth + 1) : readItems(text, depth + 1);
  }
  if (first === "null") return null;
  if (first === "true" || first === "false") return first === "true";
  if (first[0] === '"') return JSON.parse(first) as string;
  const value = Number(first) + 0; // a negative zero counts as zero
  if (first.length > MOST_DIGITS || !Number.isFinite(value)) {
    throw new PlanError(`plan: a number longer than ${MOST_DIGITS} characters, or that does not fit a double`);
  }
  return /^-?\d+$/.test(first) && Number.isSafeInteger(value) ? value : new Real(value);
}

function readMembers(text: string, depth: number): JsonObject {
  const object = Object.create(null) as JsonObject; // no inherited names
  for (let key = token(text); key !== "}"; key = token(text)) {
    if (key === ",") key = token(text);
    const name = JSON.parse(key) as string;
    if (name in object) throw new PlanError(`plan: the key ${quote(name)} occurs twice`);
    token(text); // the colon
    object[name] = readValue(text, depth);
  }
  return object;
}

function readItems(text: string, depth: number): Json[] {
  const items: Json[] = [];
  for (let next = token(text); next !== "]"; next = token(text)) {
    items.push(readValue(text, depth, next === "," ? undefined : next));
  }
  return items;
}

/** The canonical form of RFC 8785, as text. */
export function canonical(value: Json): string {
  if (value instanceof Real) return String(value.value);
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (isObject(value)) {
    return `{${Object.keys(value)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonical(value[key] as Json)}`)
      .join()}}`;
  }
  return JSON.stringify(value);
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Real);
}

/** A name from a plan, short enough for a message. */
export function quote(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}
