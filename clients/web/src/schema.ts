/**
 * The features of a study, and how a record becomes a point.
 *
 * Nothing is ever refused about a value, and nothing says what was missing: an answer that depends on the value would tell.
 *
 * @module
 */
import { fromBits, toBits } from "./exact.js";
import { array, choice, distinct, fields, integer, reader, real, refuse, text } from "./fields.js";
import { powerFrom, quantize, rotate } from "./geometry.js";
import { isObject, type Json } from "./json.js";
import { sha256 } from "./sha256.js";

/** What every feature says. A weight is how far apart two people are who differ in this feature alone, by all of it. */
interface Common {
  readonly name: string;
  readonly weight: number;
  readonly unit: string;
  readonly description: string;
}
export interface NumberFeature extends Common {
  readonly kind: "number";
  readonly low: number;
  readonly high: number;
  readonly scale: "linear" | "log";
  readonly outside: "clip" | "missing";
  readonly missing: "low" | "middle" | "high";
}
export interface CategoryFeature extends Common {
  readonly kind: "category";
  readonly values: readonly (string | number)[];
  readonly unknown: "middle" | "own";
  readonly missing: "middle" | "own";
}
export interface FlagFeature extends Common {
  readonly kind: "flag";
  readonly missing: "false" | "middle" | "true";
}
export interface CycleFeature extends Common {
  readonly kind: "cycle";
  readonly period: number;
  readonly missing: "middle";
}
export interface OrdinalFeature extends Common {
  readonly kind: "ordinal";
  readonly levels: readonly (string | number)[];
  readonly missing: "low" | "middle" | "high";
}
export interface EmbeddingFeature extends Common {
  readonly kind: "embedding";
  readonly dimension: number;
  readonly norm: number;
  /** From how many public directions the vector is seen; null where it is taken as it is. */
  readonly projected: number | null;
  readonly missing: "middle";
}
/** One thing that a study asks for. */
export type Feature = NumberFeature | CategoryFeature | FlagFeature | CycleFeature | OrdinalFeature | EmbeddingFeature;

/** What a study asks for. */
export interface Schema {
  readonly features: readonly Feature[];
  readonly coverage: number | null;
  readonly source: "declared" | "public sample";
}

/** A person's answers, by the names of the features. Whatever is missing or of another kind has a declared place. */
export type Person = Readonly<Record<string, unknown>>;

const TINY = 1e-300;
const HUGE = 1e300;
const MOST = 3000; // coordinates, and values
const OWN_FIELDS = {
  number: " low high scale outside",
  category: " values unknown",
  flag: "",
  cycle: " period",
  ordinal: " levels",
  embedding: " dimension norm",
};
const KINDS = Object.keys(OWN_FIELDS) as Feature["kind"][];
const ENDS = ["low", "middle", "high"] as const;
const HALVES = { low: -0.5, middle: 0, high: 0.5 };

/** A schema as it stands in a plan, with the dimension and radius that follow from it. */
export function readSchema(value: Json | undefined): { schema: Schema; dimension: number; radius: number } {
  const object = fields(value, "features", "features coverage source");
  const read = reader(object, "features");
  const features = read(array, "features", 0, MOST).map((value, place) => Object.freeze(readFeature(value, place)));
  if (!distinct(features.map((feature) => feature.name))) refuse("features.features", "different names");
  const dimension = features.reduce((sum, feature) => sum + coordinates(feature), 0);
  if (dimension < 1 || dimension > MOST) refuse("features.features", `1 to ${MOST} coordinates in all`);
  const coverage = object["coverage"] === null ? null : read(real, "coverage", 0.1, 1);
  const source = read(choice<Schema["source"]>, "source", ["declared", "public sample"]);
  const whole = Math.sqrt(features.reduce((sum, feature) => sum + squaredRadius(feature), 0));
  const radius = coverage === null ? whole : whole * coverage;
  return { schema: Object.freeze({ features: Object.freeze(features), coverage, source }), dimension, radius };
}

function readFeature(value: Json, place: number): Feature {
  const where = `features.features[${place}]`;
  const at = (field: string) => `${where}.${field}`;
  const kind = choice(isObject(value) ? value["kind"] : refuse(where, "an object"), at("kind"), KINDS);
  const o = fields(value, where, `kind name weight unit description missing${OWN_FIELDS[kind]}`, kind === "embedding" ? "projected" : "");
  const missing = <Name extends string>(names: readonly Name[]) => read(choice<Name>, "missing", names);
  const read = reader(o, where);
  const common = {
    name: read(text, "name", 1, 64),
    weight: read(real, "weight", 1e-6, 1e6),
    unit: read(text, "unit", 0, 64),
    description: read(text, "description", 0, 500),
  };
  switch (kind) {
    case "number": {
      const low = read(real, "low", -HUGE, HUGE);
      const high = read(real, "high", -HUGE, HUGE);
      const scale = read(choice<"linear" | "log">, "scale", ["linear", "log"]);
      if (!(high - low >= TINY)) refuse(at("low"), `a number below high by ${TINY} or more`);
      if (scale === "log" && !(low >= TINY && high / low >= 1.01)) refuse(at("low"), `${TINY} or more, and high / low at least 1.01`);
      const outside = read(choice<"clip" | "missing">, "outside", ["clip", "missing"]);
      return { kind, ...common, low, high, scale, outside, missing: missing(ENDS) };
    }
    case "category": {
      const feature = {
        kind,
        ...common,
        values: read(readValues, "values", 1),
        unknown: read(choice<"middle" | "own">, "unknown", ["middle", "own"]),
        missing: missing(["middle", "own"]),
      };
      if (feature.values.some((name) => name === "(unknown)" || name === "(missing)")) refuse(at("values"), "no name of a corner of its own");
      if (corners(feature) < 2 || corners(feature) > MOST + 1) refuse(at("values"), `2 to ${MOST + 1} corners`);
      return feature;
    }
    case "flag":
      return { kind, ...common, missing: missing(["false", "middle", "true"]) };
    case "cycle":
      return { kind, ...common, period: read(real, "period", TINY, HUGE), missing: missing(["middle"]) };
    case "ordinal":
      return { kind, ...common, levels: read(readValues, "levels", 2), missing: missing(ENDS) };
    case "embedding": {
      const dimension = read(integer, "dimension", 1, MOST);
      const norm = read(real, "norm", TINY, HUGE);
      const projected = "projected" in o ? read(integer, "projected", 1, dimension) : null;
      return { kind, ...common, dimension, norm, projected, missing: missing(["middle"]) };
    }
  }
}

function readValues(value: Json | undefined, where: string, least: number): readonly (string | number)[] {
  const values = array(value, where, least, MOST).map((item) => (typeof item === "number" ? item : text(item, where, 1, 128)));
  if (!distinct(values)) refuse(where, "different values");
  return Object.freeze(values);
}

/** m, the corners of a category's simplex: its values, then its own unknown, then its own missing. */
function corners(feature: CategoryFeature): number {
  return feature.values.length + Number(feature.unknown === "own") + Number(feature.missing === "own");
}

function coordinates(feature: Feature): number {
  if (feature.kind === "category") return corners(feature) - 1;
  if (feature.kind === "cycle") return 2;
  return feature.kind === "embedding" ? (feature.projected ?? feature.dimension) : 1;
}

function squaredRadius(feature: Feature): number {
  const w = feature.weight;
  if (feature.kind !== "category") return w * w * 0.25;
  const m = corners(feature);
  return w * w * ((m - 1) / (2 * m));
}

/** A record as d doubles. */
export function toPoint(schema: Schema, person: Person): number[] {
  return schema.features.flatMap((feature) => {
    let value = Object.hasOwn(person, feature.name) ? person[feature.name] : undefined;
    if (typeof value === "bigint") value = Number(value); // to the nearest double
    if (value === "" || Number.isNaN(value)) value = undefined;
    return place(feature, value);
  });
}

function place(feature: Feature, value: unknown): number[] {
  const w = feature.weight;
  switch (feature.kind) {
    case "number":
      return [placeNumber(feature, value)];
    case "category": {
      const { values, unknown, missing } = feature;
      const m = corners(feature);
      let corner = m; // in the middle
      if (typeof value === "string" || typeof value === "number") {
        const at = values.indexOf(value);
        if (at >= 0) corner = at;
        else if (unknown === "own") corner = values.length;
      } else if (missing === "own") corner = m - 1;
      return Array.from({ length: m - 1 }, (_, before) => {
        const j = before + 1;
        const a = w / Math.sqrt(2 * j * (j + 1));
        if (corner === m || corner > j) return 0;
        return corner < j ? a : -(j * a);
      });
    }
    case "flag": {
      let b = { false: 0, middle: 0.5, true: 1 }[feature.missing];
      if (value === true || value === 1) b = 1;
      if (value === false || value === 0) b = 0;
      return [(b - 0.5) * w];
    }
    case "ordinal": {
      const level = feature.levels.indexOf(value as string | number);
      return [(level < 0 ? HALVES[feature.missing] : level / (feature.levels.length - 1) - 0.5) * w];
    }
    case "cycle": {
      if (!Number.isFinite(value)) return [0, 0];
      let r = (value as number) % feature.period;
      if (r < 0) r = r + feature.period;
      const [cos, sin] = circle(Math.floor((r / feature.period) * TURN + 0.5) % TURN);
      return [w * 0.5 * cos, w * 0.5 * sin];
    }
    case "embedding": {
      const list = Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<unknown>) : [];
      const vector = list.map((x) => (typeof x === "bigint" ? Number(x) : x)) as number[];
      if (vector.length !== feature.dimension || !vector.every(Number.isFinite)) return Array<number>(coordinates(feature)).fill(0);
      const step = (w * 0.5) / 2 ** 20;
      return project(quantize(vector, null, feature.norm), feature.projected).map((q) => q * step);
    }
  }
}

/** A vector of integers as seen from the first m directions of a public rotation, the same for all plans. */
export function project(q: number[], m: number | null): number[] {
  if (m === null) return q;
  const size = powerFrom(1, q.length);
  const y = rotate(q, size, sha256(`coterie/1/projection/${q.length}`)).subarray(0, m);
  const scale = Math.sqrt(size * m);
  return quantize(y.map((x) => x / scale), null, 2 ** 20);
}

function placeNumber(feature: NumberFeature, value: unknown): number {
  const { low, high, weight } = feature;
  if (typeof value !== "number" || (feature.outside === "missing" && (value < low || value > high))) {
    return HALVES[feature.missing] * weight;
  }
  const x = Math.max(low, Math.min(high, value));
  if (feature.scale === "linear") return ((x - low) / (high - low) - 0.5) * weight;
  const bottom = log2(low);
  return ((log2(x) - bottom) / (log2(high) - bottom) - 0.5) * weight;
}

/** The logarithm to base 2 of a positive normal double, by forty squarings; a library's differs from machine to machine. */
export function log2(x: number): number {
  const bits = toBits(x);
  let result = Number(bits >> 52n) - 1023;
  let m = fromBits((bits & ((1n << 52n) - 1n)) | (1023n << 52n)); // from 1 to 2
  for (let i = 1, step = 0.5; i <= 40; i++, step /= 2) {
    m = m * m;
    if (m >= 2) {
      m = m / 2;
      result += step;
    }
  }
  return result;
}

const TURN = 2 ** 24;
type Complex = readonly [cos: number, sin: number];
let roots: Complex[] | undefined;

/** cos and sin of n/2²⁴ of a full turn, as products of roots of unity found by halving angles. */
export function circle(n: number): Complex {
  if (!roots) {
    roots = [
      [-1, 0],
      [0, 1],
    ];
    for (let k = 3; k <= 24; k++) {
      const [c, s] = roots[k - 2] as Complex;
      const cos = Math.sqrt((1 + c) / 2);
      roots.push([cos, s / (2 * cos)]);
    }
  }
  const chosen = roots.map((root, k): Complex => ((n >> (23 - k)) & 1 ? root : [1, 0]));
  return times(chosen.slice(0, 12).reduce(times, [1, 0]), chosen.slice(12).reduce(times, [1, 0]));
}

function times([a, b]: Complex, [c, s]: Complex): Complex {
  return [a * c - b * s, a * s + b * c];
}
