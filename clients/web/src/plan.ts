/**
 * The plan: the public contract, read with every check that a device must make before it answers.
 *
 * A plan comes from outside. Every field is bounded, and the odds are decided against ε in exact arithmetic; a plan that leaves
 * any doubt is refused.
 *
 * @module
 */
import { counter, type Counter } from "./aes.js";
import { PlanError } from "./errors.js";
import { largestOdds } from "./exact.js";
import { array, choice, distinct, fields, integer, isPower, planId, power, reader, real, refuse } from "./fields.js";
import { halfspaceSize, type View } from "./geometry.js";
import { canonical, readObject, type Json } from "./json.js";
import type { Promised } from "./mixing.js";
import { readSchema, type Schema } from "./schema.js";
import { hex, sha256 } from "./sha256.js";

/** A plan that was read and checked. Only {@link readPlan} makes one. */
export interface Plan extends Promised {
  /** SHA-256 of the canonical JSON, 64 hex digits. */
  readonly id: string;
  /** The study it belongs to: the id of the study's first plan. */
  readonly study: string;
  /** The canonical JSON. */
  readonly json: string;
  /** Coordinates of a point. */
  readonly dimension: number;
  /** How many groups are looked for. */
  readonly clusters: number;
  /** Whether reports keep ε by themselves, or only once a shuffler has mixed them with other people's. */
  readonly model: "local" | "shuffle";
  /** The promise, ε: any report, or where it is mixed any batch, is at most e^ε times as likely with one point as with another. */
  readonly epsilon: number;
  /** Where reports are mixed, with what probability the promise may fail; else 0. */
  readonly delta: number;
  /** ε₀, the promise of a report by itself: ε where nothing is mixed. */
  readonly localEpsilon: number;
  /** The fewest people whose reports are mixed; 1 where nothing is. */
  readonly minimumBatch: number;
  /** How many people are expected. */
  readonly expectedUsers: number;
  /** Where a report's id comes from: the device's coins, or the person's invitation. */
  readonly ids: "random" | "token";
  /** What the study asks for; null where people are points. */
  readonly features: Schema | null;
  /** How it is collected; null where the plan does not say. */
  readonly collection: Collection | null;
  /** Bytes of one report. */
  readonly reportBytes: number;
  /** With what probability a report says any one index of the person's own cap, and any one outside it. */
  readonly chances: { readonly inside: number; readonly outside: number };
}

/** How a plan is collected. Times are seconds since 1970-01-01T00:00:00Z. */
export interface Collection {
  /** When reports are taken in: from `opens` until just before `closes`; null where there is no such bound. */
  readonly opens: number | null;
  readonly closes: number | null;
  /** Seconds: a collector keeps no time but in multiples of it. */
  readonly timePrecision: number;
  /** People without whom nothing is decoded. */
  readonly minimum: number;
  /** Seconds after the close for which reports are kept; null: until they are deleted. */
  readonly retention: number | null;
}

/** What the encoder needs of a plan. */
export interface Mechanism {
  readonly id: Uint8Array;
  readonly stream: Counter;
  readonly center: readonly number[] | null;
  readonly radius: number;
  readonly directions: readonly (readonly number[])[] | null; // e
  readonly codewords: number; // N
  readonly cap: number; // m
  readonly odds: number; // A
  readonly total: number; // T
  readonly embedding: number; // P
  readonly countWeight: number; // b
  readonly views: readonly View[];
  readonly tickets: number; // W
}

export const UNIT = 2 ** 24; // B: odds are integers over it
const MOST_ROWS = 2 ** 16;
const NET_COORDINATES = 2 ** 18;
const STEPS = 2 ** 20;
const SMALLEST_NORMAL = 2.2250738585072014e-308;
const LATEST = 253402300799; // the last second of the year 9999
const LONGEST = 2 ** 32; // seconds
const MOST_INTEGER = Number.MAX_SAFE_INTEGER;
const FIELDS =
  "format version protocol model dimension clusters epsilon delta expected_users center radius seed ids study after parameters";

const mechanisms = new WeakMap<Plan, Mechanism>(); // a plan that was not read here has none

/**
 * Reads a plan, checks all of it, and names it by its SHA-256.
 *
 * @param source JSON as text or UTF-8 bytes, at most 4 MiB.
 * @param id The id that the plan must have, where it is known; 64 lower-case hex digits.
 * @param mixing What recomputes the promise of a batch, of the module `coterie-client/mixing`; without it plans of the shuffle
 * model are refused.
 * @throws PlanError saying which field is wrong and what was expected.
 *
 * @example
 * const plan = readPlan(await (await fetch(`/plans/${id}`)).text(), id);
 * console.log(plan.epsilon, plan.features?.features.map((feature) => feature.name));
 */
export function readPlan(source: string | Uint8Array, id?: string, mixing?: (promised: Promised) => boolean): Plan {
  const json = readObject(source);
  const o = fields(json, "plan", FIELDS, "directions features collection");
  const read = reader(o, "plan");
  read(choice, "format", ["coterie-plan"]);
  const version = "directions" in o ? 2 : 1; // the lowest that can say it
  read(integer, "version", version, version);
  const model = read(choice<Plan["model"]>, "model", mixing ? ["local", "shuffle"] : ["local"]);
  const mixed = model === "shuffle";
  read(choice, "protocol", ["codeword"]);
  const dimension = read(integer, "dimension", 1, 3000);
  const expectedUsers = read(integer, "expected_users", 1, 2 ** 40);
  const clusters = read(integer, "clusters", 1, Math.min(4096, expectedUsers));
  const epsilon = read(real, "epsilon", Number.MIN_VALUE, 16);
  const delta = read(real, "delta", mixed ? 1e-30 : 0, mixed ? 0.01 : 0);
  const radius = read(real, "radius", SMALLEST_NORMAL, Number.MAX_VALUE);
  const center = readCenter(o["center"], dimension);
  o["center"] = center && (o["center"] as Json);
  read(integer, "seed", 0, MOST_INTEGER);
  const ids = read(choice<Plan["ids"]>, "ids", mixed ? ["random"] : ["random", "token"]);
  const study = o["study"] === null ? null : read(planId, "study");
  const after = read(array, "after", 0, 64).map((item) => planId(item, "plan.after"));
  if (!distinct(after)) refuse("plan.after", "each plan once");
  const features = "features" in o ? readSchema(o["features"]) : null;
  if (features) {
    if (features.dimension !== dimension) refuse("plan.dimension", `${features.dimension}, as the features have`);
    if (!after.length && center) refuse("plan.center", "null, as the features have");
    if (!after.length && radius !== features.radius) refuse("plan.radius", `${features.radius}, as the features have`);
  }
  const collection = "collection" in o ? readCollection(o["collection"], expectedUsers) : null;
  const directions = "directions" in o ? readDirections(o["directions"], dimension) : null;
  const parameters = readParameters(o["parameters"], directions ? directions.length : dimension, epsilon, mixed && expectedUsers);
  const { localEpsilon, minimumBatch } = parameters;
  if (mixed && !mixing!({ epsilon, delta, localEpsilon, minimumBatch })) refuse("plan.epsilon", "what mixing keeps");

  const text = canonical(json);
  const digest = sha256(text);
  const name = hex(digest);
  if (id !== undefined && id !== name) throw new PlanError(`plan: its id is ${name}, expected another`);
  const plan: Plan = Object.freeze({
    id: name,
    study: study ?? name,
    json: text,
    dimension,
    clusters,
    model,
    epsilon,
    delta,
    localEpsilon,
    minimumBatch,
    expectedUsers,
    ids,
    features: features && features.schema,
    collection,
    reportBytes: parameters.codewords > 256 ? 14 : 13,
    chances: Object.freeze({ inside: parameters.odds / parameters.total, outside: UNIT / parameters.total }),
  });
  mechanisms.set(plan, { id: digest, stream: counter(sha256("coterie/1/public", digest)), center, radius, directions, ...parameters });
  return plan;
}

/** The parts of a plan that the encoder needs; refuses what {@link readPlan} did not make. */
export function mechanismOf(plan: Plan): Mechanism {
  return mechanisms.get(plan) ?? refuse("plan", "one that readPlan returned");
}

function readCenter(value: Json | undefined, dimension: number): readonly number[] | null {
  if (value === null) return null;
  const most = Number.MAX_VALUE;
  const center = array(value, "plan.center", dimension, dimension).map((x) => real(x, "plan.center", -most, most));
  return center.some(Boolean) ? center : null; // the origin has one spelling
}

function readDirections(value: Json | undefined, dimension: number): readonly (readonly number[])[] {
  return array(value, "plan.directions", 1, Math.min(64, dimension)).map((row) => {
    const direction = array(row, "plan.directions", dimension, dimension).map((x) =>
      integer(x, "plan.directions", -8 * STEPS, 8 * STEPS),
    );
    let square = 0n; // beyond doubles
    for (const x of direction) square += BigInt(x) * BigInt(x);
    if (square === 0n || square > BigInt(8 * STEPS) ** 2n) refuse("plan.directions", "directions of a length up to 2^23");
    return direction;
  });
}

function readCollection(value: Json | undefined, people: number): Collection {
  const at = (field: string) => `collection.${field}`;
  const o = fields(value, "collection", "opens closes time_precision minimum retention");
  const read = reader(o, "collection");
  const orNull = (field: string, most: number) => (o[field] === null ? null : read(integer, field, 0, most));
  const timePrecision = read(integer, "time_precision", 1, LONGEST);
  const moment = (field: string) => {
    const time = orNull(field, LATEST);
    if (time !== null && time % timePrecision) refuse(at(field), "a multiple of time_precision");
    return time;
  };
  const opens = moment("opens");
  const closes = moment("closes");
  if (opens !== null && closes !== null && opens >= closes) refuse(at("opens"), "a time before closes");
  const minimum = read(integer, "minimum", 1, people);
  return Object.freeze({ opens, closes, timePrecision, minimum, retention: orNull("retention", LONGEST) });
}

/** @param people How many are expected, where they are mixed. */
function readParameters(value: Json | undefined, dimension: number, epsilon: number, people: number | false) {
  const at = (field: string) => `plan.parameters.${field}`;
  const o = fields(value, "plan.parameters", `codewords cap odds embedding count_weight views${people ? " local_epsilon minimum_batch" : ""}`);
  const read = reader(o, "plan.parameters");
  const localEpsilon = people ? read(real, "local_epsilon", Number.MIN_VALUE, 16) : epsilon;
  const minimumBatch = people ? read(integer, "minimum_batch", 1, people) : 1;
  const codewords = read(integer, "codewords", 2, 4096);
  const cap = read(integer, "cap", 1, codewords - 1);
  const odds = read(integer, "odds", UNIT + 1, largestOdds(localEpsilon));
  const total = cap * odds + (codewords - cap) * UNIT;
  if (total > MOST_INTEGER) refuse(at("odds"), "total odds below 2^53"); // rounding cannot hide a sum beyond
  const embedding = read(power, "embedding", 128, 4096);
  if (embedding < dimension + 2) refuse(at("embedding"), `${dimension + 2} or more`);
  const countWeight = read(integer, "count_weight", 0, STEPS);
  const views = read(array, "views", 1, 256).map((view, i) => readView(view, at(`views[${i}]`), dimension));
  const tickets = views.reduce((sum, view) => sum + view.weight, 0);
  if (!isPower(tickets) || tickets > 256) refuse(at("views"), "weights that sum to a power of two, at most 256");
  if (views.reduce((sum, view) => sum + view.rows, 0) > MOST_ROWS) refuse(at("views"), `at most ${MOST_ROWS} rows in all`);
  const net = views.reduce((sum, view) => sum + (view.cells === "net" ? view.rows * dimension : 0), 0);
  if (net > NET_COORDINATES) refuse(at("views"), `at most ${NET_COORDINATES} coordinates of nets in all`);
  return { localEpsilon, minimumBatch, codewords, cap, odds, total, embedding, countWeight, views, tickets };
}

const VIEW_FIELDS = { "cross-polytope": "size", net: "points", halfspaces: "rows offsets" };

function readView(value: Json, where: string, dimension: number): View {
  const at = (field: string) => `${where}.${field}`;
  const cells = choice(
    (value as { cells?: Json } | null)?.cells,
    at("cells"),
    Object.keys(VIEW_FIELDS) as (keyof typeof VIEW_FIELDS)[],
  );
  const o = fields(value, where, `cells weight ${VIEW_FIELDS[cells]}`);
  const read = reader(o, where);
  const weight = read(integer, "weight", 1, 256);
  if (cells === "cross-polytope") {
    const size = read(power, "size", 1, 2 ** 15);
    return { cells, weight, rows: 2 * size, size };
  }
  if (cells === "net") {
    const points = read(array, "points", 1, MOST_ROWS).map((point) =>
      array(point, at("points"), dimension, dimension).map((x) => integer(x, at("points"), -STEPS, STEPS)),
    );
    power(points.length, at("points"), 1, MOST_ROWS);
    return { cells, weight, rows: points.length, points };
  }
  const rows = read(power, "rows", 1, MOST_ROWS);
  const reach = halfspaceSize(dimension) * STEPS;
  const offsets = read(array, "offsets", rows, rows).map((x) => integer(x, at("offsets"), -reach, reach));
  return { cells, weight, rows, offsets };
}
