/** Plans come from outside: what is refused, and what does not matter to the id. */
import { describe, expect, test } from "vitest";
import * as coterie from "../src/internal.js";
import { changed, load, type PromiseVectors, type ShuffleVectors, type Vectors } from "./vectors.js";

const GOOD = load<Vectors>("codeword").good[0] as Vectors["good"][0];
const { plan: PLAN, plan_id: ID } = GOOD;
const SCHEMA =
  '{"coverage":null,"features":[{"description":"","kind":"flag","missing":"middle","name":"a","unit":"","weight":2}],"source":"declared"}';

describe("the spelling does not matter to the id", () => {
  test.each([
    ["spaces", JSON.stringify(JSON.parse(PLAN), null, 3)],
    ["the order of keys", JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(PLAN) as object).reverse()))],
    ["numbers", PLAN.replace('"epsilon":1', '"epsilon":10.0e-1').replace('"radius":1', '"radius":1.000')],
    ["a negative zero", PLAN.replace('"delta":0', '"delta":-0.0').replace('"seed":0', '"seed":-0')],
    ["the origin", PLAN.replace('"center":null', '"center":[0,0.0,-0]')],
    ["escapes", PLAN.replace("local", "\\u006cocal")],
  ])("%s", (_, text) => {
    expect(coterie.readPlan(text)).toMatchObject({ id: ID, json: PLAN, study: ID });
    expect(coterie.readPlan(new TextEncoder().encode(text)).id).toBe(ID);
  });
});

const WINDOW = { opens: 7200, closes: 10800, time_precision: 3600, minimum: 10, retention: null };
const collected = (changes: object) => changed(PLAN, (o) => (o["collection"] = { ...WINDOW, ...changes } as never));

test("how a plan is collected is read", () => {
  expect(coterie.readPlan(PLAN).collection).toBeNull();
  expect(coterie.readPlan(collected({ retention: 0 })).collection).toEqual({ opens: 7200, closes: 10800, timePrecision: 3600, minimum: 10, retention: 0 });
});

describe("refused", () => {
  test.each([
    ["a collection that is null", changed(PLAN, (o) => (o["collection"] = null as never)), "collection: expected an object"],
    ["a window that is not in steps", collected({ opens: 7201 }), "collection.opens: expected a multiple"],
    ["a window that ends as it begins", collected({ opens: 10800 }), "collection.opens: expected a time before closes"],
    ["a minimum that nobody reaches", collected({ minimum: 1001 }), "collection.minimum"],
    ["a minimum of nobody", collected({ minimum: 0 }), "collection.minimum"],
    ["a time precision of 0", collected({ time_precision: 0 }), "collection.time_precision"],
    ["a retention beyond all bounds", collected({ retention: 2 ** 32 + 1 }), "collection.retention"],
    ["nothing", "", "not JSON"],
    ["a list", "[]", "object"],
    ["a byte order mark", `\ufeff${PLAN}`, "not JSON"],
    ["two plans", PLAN + PLAN, "not JSON"],
    ["bytes that are not UTF-8", Uint8Array.of(0x22, 0xff, 0x22), "UTF-8"],
    ["a lone surrogate", PLAN.replace("local", "\ud800"), "surrogate"],
    ["more than 4 MiB", PLAN + " ".repeat(2 ** 22), "longer than 4194304 bytes"],
    ["a key twice, one of them escaped", PLAN.replace('"seed":0', '"seed":0,"see\\u0064":0'), '"seed" occurs twice'],
    ["a key that every object has", PLAN.replace('"seed":0', '"seed":0,"__proto__":{}'), "__proto__"],
    ["a key of all objects in place of its own", PLAN.replace('"seed"', '"toString"'), "seed"],
    ["nine levels", PLAN.replace('"after":[]', '"after":[[[[[[[[[]]]]]]]]]'), "nested deeper than 8"],
    ["a number of 33 characters", PLAN.replace('"radius":1', `"radius":1.${"0".repeat(31)}`), "32 characters"],
    ["a number beyond the doubles", PLAN.replace('"radius":1', '"radius":1e309'), "double"],
    ["an integer with a fraction", PLAN.replace('"dimension":3', '"dimension":3.0'), "plan.dimension: expected an integer"],
    ["an integer with an exponent", PLAN.replace('"dimension":3', '"dimension":3e0'), "plan.dimension"],
    ["a seed of 2^53", PLAN.replace('"seed":0', '"seed":9007199254740992'), "plan.seed"],
    ["true for a number", PLAN.replace('"delta":0', '"delta":false'), "plan.delta"],
    ["epsilon above 16", PLAN.replace('"epsilon":1', '"epsilon":16.000000000000004'), "plan.epsilon"],
    ["more clusters than people", PLAN.replace('"clusters":2', '"clusters":1001'), "plan.clusters"],
    ["a subnormal radius", PLAN.replace('"radius":1', '"radius":2.225073858507201e-308'), "plan.radius"],
    ["a delta in the local model", PLAN.replace('"delta":0', '"delta":1e-9'), "plan.delta"],
    ["the shuffle model", PLAN.replace('"local"', '"shuffle"').replace('"delta":0', '"delta":1e-6'), 'plan.model: expected "local"'],
    ["another protocol", PLAN.replace('"codeword"', '"net-tree"'), 'plan.protocol: expected "codeword"'],
    ["no model that is known", PLAN.replace('"local"', '"remote"'), "plan.model"],
    ["features that are null", PLAN.replace('"format"', '"features":null,"format"'), "features"],
    ["features of another dimension", PLAN.replace('"format"', `"features":${SCHEMA},"format"`), "plan.dimension: expected 1"],
    ["65 plans before", changed(PLAN, (o) => (o["after"] = Array.from({ length: 65 }, (_, i) => String(i).padStart(64, "0")))), "plan.after"],
    ["an id in capitals", PLAN.replace('"study":null', `"study":"${"A".repeat(64)}"`), "plan.study"],
    ["total odds of 2^53", changed(PLAN, (o) => Object.assign(o, { epsilon: 16 }) && Object.assign(o.parameters, { codewords: 4096, odds: 2 ** 47, cap: 64 })), "2^53"],
    ["257 views", changed(PLAN, (o) => (o.parameters["views"] = Array<never>(257).fill({ cells: "cross-polytope", size: 1, weight: 1 } as never))), "views"],
    ["nets of more coordinates than allowed", changed(PLAN, (o) => (o.parameters["views"] = [{ cells: "net", points: Array<number[]>(131072).fill([0, 0, 0]), weight: 1 }])), "points"],
  ])("%s", (_, text, message) => {
    expect(() => coterie.readPlan(text)).toThrow(coterie.PlanError);
    expect(() => coterie.readPlan(text)).toThrow(message);
  });

  test("nets of 2^18 coordinates and three more", () => {
    const net = (points: number) => ({ cells: "net", points: Array<number[]>(points).fill(Array<number>(100).fill(0)), weight: 1 });
    const wide = (points: number[]) => changed(PLAN, (o) => Object.assign(o, { dimension: 100 }) && (o.parameters["views"] = points.map(net)));
    expect(coterie.readPlan(wide([2048, 512])).dimension).toBe(100); // 256,000 of 262,144
    expect(() => coterie.readPlan(wide([2048, 1024]))).toThrow("262144 coordinates");
  });

  test("a plan with another id than the one asked for", () => {
    expect(coterie.readPlan(PLAN, ID).id).toBe(ID);
    expect(() => coterie.readPlan(PLAN.replace('"seed":0', '"seed":1'), ID)).toThrow("expected another");
  });

  test("a plan that was not read, whatever it says of itself", () => {
    const plan = coterie.readPlan(PLAN);
    expect(() => coterie.encode({ ...plan }, [0, 0, 0])).toThrow("readPlan");
    expect(() => Object.assign(plan, { epsilon: 0.1 })).toThrow(TypeError);
  });
});

describe("a plan of the shuffle model", () => {
  const given = (load<ShuffleVectors>("shuffle").codeword[0] as { plan: string }).plan;
  const amplified = changed(given, (o) => Object.assign(o.parameters, { local_epsilon: 2, odds: coterie.largestOdds(2), minimum_batch: 2000 }));
  const plan = coterie.readPlan(amplified, undefined, coterie.mixing);
  const KEY = "5e1f".repeat(16);

  test("is read with what it promises alone and mixed, where the promise can be recomputed", () => {
    expect(plan).toMatchObject({ model: "shuffle", ids: "random", epsilon: 1, localEpsilon: 2, minimumBatch: 2000 });
    expect(coterie.readPlan(PLAN, ID, coterie.mixing)).toMatchObject({ model: "local", delta: 0, localEpsilon: 1, minimumBatch: 1 });
    expect(() => coterie.readPlan(amplified)).toThrow('plan.model: expected "local"');
    expect(() => coterie.readPlan(amplified, undefined, () => false)).toThrow("plan.epsilon: expected what mixing keeps");
  });
  test("is answered only if the policy trusts a shuffler", () => {
    expect(() => coterie.encode(plan, [0, 0, 0])).toThrow("expected a shuffler that the policy trusts");
    expect(coterie.encode(plan, [0, 0, 0], { policy: { shufflers: [KEY] } })).toHaveLength(13);
  });
  test("spends ε, δ and ε₀, and no more δ than one in those who are mixed", () => {
    const spend = (changes: object) => () => coterie.checkPolicy({ shufflers: [KEY], ...changes }, plan);
    expect(spend({ maxLocalEpsilon: 1.9 })).toThrow("maxLocalEpsilon 1.9");
    expect(spend({ maxDelta: plan.delta / 2 })).toThrow("maxDelta");
    const less = coterie.readPlan(changed(amplified, (o) => (o["delta"] = 1e-5 as never)), undefined, () => true);
    const crowd = coterie.readPlan(
      changed(amplified, (o) => Object.assign(o, { delta: 1e-5, expected_users: 200_000 }) && (o.parameters["minimum_batch"] = 100_001)),
      undefined,
      () => true,
    );
    const trusted = { shufflers: [KEY] };
    expect(() => coterie.checkPolicy(trusted, less)).not.toThrow();
    expect(() => coterie.checkPolicy(trusted, crowd)).toThrow("maxDelta 0.00000999");
    expect(() => coterie.checkPolicy({ ...trusted, totalLocalEpsilon: 12 }, plan, [{ epsilon: 1, delta: 0, localEpsilon: 10.5 }])).toThrow("totalLocalEpsilon 12");
  });
  test.each(load<PromiseVectors>("promises").amplified)("$minimum_batch of ε₀ $local_epsilon at $epsilon: rounded up, within 10⁻⁹", (one) => {
    const promised = { epsilon: one.epsilon, localEpsilon: one.local_epsilon, minimumBatch: one.minimum_batch };
    const found = coterie.amplifiedDelta({ ...promised, delta: one.delta || 1e-9 });
    expect(found).toBeGreaterThanOrEqual(one.delta);
    expect(found).toBeLessThanOrEqual(one.delta * (1 + 1e-9));
    if (one.delta) {
      expect(coterie.mixing({ ...promised, delta: one.delta * (1 + 1e-9) })).toBe(true);
      expect(coterie.mixing({ ...promised, delta: one.delta * (1 - 1e-9) })).toBe(false);
    }
  });
  test("a batch that would keep a browser busy for minutes is refused at once", () => {
    const start = performance.now();
    expect(coterie.mixing({ epsilon: 1e-5, localEpsilon: 2, delta: 1e-5, minimumBatch: 2 ** 40 })).toBe(false);
    expect(coterie.mixing({ epsilon: 1, localEpsilon: 4, delta: 1e-9, minimumBatch: 2 ** 27 })).toBe(true);
    expect(performance.now() - start).toBeLessThan(5000);
  });
});

describe("a schema in a plan", () => {
  const plan = changed(PLAN, (o) => Object.assign(o, { dimension: 1, features: JSON.parse(SCHEMA) as never }));
  test("is read, and frozen", () => {
    const read = coterie.readPlan(plan);
    expect(read.features?.features[0]).toMatchObject({ kind: "flag", name: "a", weight: 2 });
    expect(Object.isFrozen(read.features?.features)).toBe(true);
    expect(coterie.encode(read, { a: true })).toHaveLength(13);
    expect(coterie.encode(read, [1])).toHaveLength(13);
  });
  test("looks at a record's own keys, not at those that every object has", () => {
    const named = SCHEMA.replace('"kind":"flag","missing":"middle","name":"a"', '"kind":"category","missing":"own","name":"constructor","unknown":"own","values":["x"]');
    const { schema } = coterie.readSchema(coterie.readObject(named));
    const missing = coterie.toPoint(schema, Object.create(null) as object as Record<string, unknown>);
    expect(coterie.toPoint(schema, {})).toEqual(missing);
    expect(coterie.toPoint(schema, Object.create({ constructor: "x" }) as Record<string, unknown>)).toEqual(missing);
    expect(coterie.toPoint(schema, { constructor: "x" } as never)).not.toEqual(missing);
  });
  test.each([
    ["radius", '"radius":1', '"radius":1.0000000000000002'],
    ["center", '"center":null', '"center":[0.5]'],
  ])("fixes the %s, unless the plan follows up others", (field, old, other) => {
    const moved = plan.replace(old, other);
    expect(moved).not.toBe(plan);
    expect(() => coterie.readPlan(moved)).toThrow(`plan.${field}`);
    expect(coterie.readPlan(moved.replace('"after":[]', `"after":["${ID}"],"x":0`).replace(',"x":0', "")).dimension).toBe(1);
  });
});

describe("odds", () => {
  test.each([
    [0.5, 27660952],
    [1, 45605201],
    [2, 123967790],
    [4, 916004956],
    [Number.MIN_VALUE, 2 ** 24],
    [16, 149084195602433],
  ])("e^%d", (epsilon, odds) => expect(coterie.largestOdds(epsilon)).toBe(odds));

  test("are refused at one more than the exact bound and taken at it", () => {
    for (const epsilon of [0.1, 1 / 3, 1, 2.5, 7.75]) {
      const odds = coterie.largestOdds(epsilon);
      const plan = (more: number) => changed(PLAN, (o) => Object.assign(o, { epsilon }) && (o.parameters["odds"] = odds + more));
      expect(coterie.readPlan(plan(0)).epsilon).toBe(epsilon);
      expect(() => coterie.readPlan(plan(1))).toThrow(`plan.parameters.odds: expected an integer from 16777217 to ${odds}`);
    }
  });
});
