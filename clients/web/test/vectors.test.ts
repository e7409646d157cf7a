/** Every golden vector, with every step on the way. */
import { describe, expect, test, vi } from "vitest";
import * as coterie from "../src/internal.js";
import {
  bytes, load, record, source, type PlanVectors, type RecordVectors, type ShuffleVectors, type StepVectors, type StudyVectors,
  type Vectors,
} from "./vectors.js";

const codeword = load<Vectors>("codeword");
const records = load<RecordVectors>("records");
const steps = load<StepVectors>("steps");
const { studies } = load<StudyVectors>("studies");
const plans = load<PlanVectors>("plan_json");
const shuffle = load<ShuffleVectors>("shuffle");
const directions = load<Vectors>("directions");
const STEPS = ["quantized", "projected", "row", "flip", "cell", "height", "sign", "lifted", "rounded", "scores"] as const;
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value)); // -0 is 0

describe.each([...codeword.good, ...directions.good])("good: $name", ({ plan: json, plan_id, randomness_key, draw_below, cases }) => {
  const plan = coterie.readPlan(json, plan_id);
  const mechanism = coterie.mechanismOf(plan);

  test("id, canonical form, key and total odds", () => {
    expect(plan.id).toBe(plan_id);
    expect(plan.json).toBe(json);
    expect(coterie.hex(coterie.sha256("coterie/1/public", bytes(plan_id)).slice(0, 16))).toBe(randomness_key);
    expect(mechanism.total).toBe(draw_below);
  });

  test.each(cases)("id $id, draw $draw", (one) => {
    const answer = one.record === undefined ? (one.point as number[]) : record(one as { record: string });
    const steps = coterie.explain(mechanism, coterie.pointOf(plan, answer), bytes(one.id));
    for (const step of STEPS) expect(plain(steps[step] ?? null), step).toEqual(one[step] ?? null);
    expect(coterie.rank(mechanism, one.draw)).toBe(one.rank);
    expect(steps.order[one.rank]).toBe(one.index);
    expect(coterie.hex(coterie.report(plan, answer, bytes(one.id), one.draw))).toBe(one.report);
    const inside = steps.order.indexOf(one.index) < mechanism.cap;
    expect(coterie.chance(plan, bytes(one.report), answer)).toBe(plan.chances[inside ? "inside" : "outside"]);
  });
});

test.each(codeword.tokens)("token $token", ({ plan: json, token, id }) => {
  const made = coterie.identity(coterie.readPlan(json), bytes(token));
  expect(coterie.hex(made.id)).toBe(id);
  expect(coterie.hex(made.prefix)).toBe(token);
});

test.each([...codeword.bad.filter(({ error }) => error === "plan"), ...directions.bad])("refused plan: $name", ({ plan }) => {
  expect(() => coterie.readPlan(plan)).toThrow(coterie.PlanError);
});

test.each(codeword.bad.filter(({ error }) => error === "point"))("refused point: $name", ({ plan: json, point }) => {
  const plan = coterie.readPlan(json);
  expect(() => coterie.encode(plan, (point ?? []).map(Number))).toThrow(coterie.PointError);
});

test.each(codeword.bad.filter(({ error }) => error === "report"))("refused report: $name", ({ plan: json, reports }) => {
  const plan = coterie.readPlan(json);
  const all = bytes(reports ?? "");
  expect(() => {
    for (let at = 0; at < all.length; at += plan.reportBytes) coterie.chance(plan, all.slice(at, at + plan.reportBytes), [0, 0, 0]);
  }).toThrow(coterie.ReportError);
});

describe.each(records.good)("records: $name", ({ schema: json, radius, cases }) => {
  const { schema, ...ball } = coterie.readSchema(coterie.readObject(json));
  test("radius", () => {
    expect(ball.radius).toBe(radius);
    expect(ball.dimension).toBe(cases[0]?.point.length);
    expect(coterie.canonical(coterie.readObject(json))).toBe(json);
  });
  test.each(cases)("$record $doubles", (one) => {
    const point = coterie.toPoint(schema, record(one));
    expect(point.map((x) => x + 0)).toEqual(one.point.map((x) => x + 0));
    expect(plain(coterie.quantize(point, null, radius))).toEqual(one.quantized);
  });
});

test.each(records.bad)("refused schema: $name", ({ schema, about }) => {
  expect(() => coterie.readSchema(coterie.readObject(schema))).toThrow(coterie.PlanError);
  expect(() => coterie.readSchema(coterie.readObject(schema))).toThrow(about);
});

test.each(records.repeated_keys)("the last of two keys counts: $record", ({ schema, record: text, point }) => {
  expect(coterie.toPoint(coterie.readSchema(coterie.readObject(schema)).schema, JSON.parse(text) as coterie.Person)).toEqual(point);
});

describe("single steps", () => {
  test.each(steps.logs)("log of $x", ({ x, log }) => expect(coterie.log2(x)).toBe(log));
  test.each(steps.circles)("$n of a turn", ({ n, cos, sin }) => expect(coterie.circle(n).map((x) => x + 0)).toEqual([cos, sin]));
  test.each(steps.projections)("from $q to $projected", ({ q, projected, seen }) => {
    expect(plain(coterie.project(q, projected))).toEqual(seen);
  });
  test.each(steps.draws.filter(({ bits }) => bits === 53))("$bytes below $below", ({ below, bytes: given, draw, refused }) => {
    const view = new DataView(bytes(given).buffer);
    let at = 0;
    const coins = vi.spyOn(crypto, "getRandomValues").mockImplementation((array) => {
      for (let i = 0; i < (array as Uint32Array).length; i++, at += 4) (array as Uint32Array)[i] = view.getUint32(at, true);
      return array;
    });
    expect(coterie.below(below)).toBe(draw);
    expect(coins).toHaveBeenCalledTimes(refused + 1);
    coins.mockRestore();
  });
});

describe.each(studies)("study: $name", ({ plan: json, plan_id, radius, draw_below, cases }) => {
  const plan = coterie.readPlan(json, plan_id);
  const mechanism = coterie.mechanismOf(plan);
  test("id, radius and total odds", () => {
    expect([plan.id, mechanism.total]).toEqual([plan_id, draw_below]);
    const { features } = coterie.readObject(json);
    expect(coterie.readSchema(features).radius).toBe(radius); // of the features; a plan that follows others may have another
  });
  test.each(cases)("$record", (one) => {
    const person = record(one as { record: string });
    const point = coterie.pointOf(plan, person) as number[];
    expect(point.map((x) => x + 0)).toEqual((one.point as number[]).map((x) => x + 0));
    const steps = coterie.explain(mechanism, point, bytes(one.id));
    for (const step of STEPS) {
      if (step in one) expect(plain(steps[step] ?? null), step).toEqual(one[step]);
    }
    expect(coterie.hex(coterie.report(plan, person, bytes(one.id), one.draw))).toBe(one.report);
  });
});

test.each(plans.same)("the same plan: $name", (one) => {
  const plan = coterie.readPlan(source(one));
  expect([plan.json, plan.id]).toEqual([one.canonical, one.plan_id]);
});

test.each(plans.bad)("no plan: $name", (one) => {
  expect(() => coterie.readPlan(source(one))).toThrow(coterie.PlanError);
});

test.each(shuffle.codeword)("the shuffle model: $plan_id", ({ plan, plan_id }) => {
  expect(coterie.readPlan(plan, plan_id, coterie.mixing).id).toBe(plan_id);
});

test.each(shuffle.vector_sums)("shares are refused: by itself such a report hides nothing", ({ plan }) => {
  expect(() => coterie.readPlan(plan, undefined, coterie.mixing)).toThrow('plan.protocol: expected "codeword"');
});

test.each(shuffle.bad_plans)("refused plan: $name", ({ plan }) => {
  expect(() => coterie.readPlan(plan, undefined, coterie.mixing)).toThrow(coterie.PlanError);
});
