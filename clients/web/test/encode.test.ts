/** The draw, its coins, and what is never said. */
import { createCipheriv, createHash, randomBytes } from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as coterie from "../src/internal.js";
import { bytes, changed, load, type Vectors } from "./vectors.js";

const { good, tokens } = load<Vectors>("codeword");
const PLAN = (good[0] as Vectors["good"][0]).plan;
const plan = coterie.readPlan(PLAN);
const mechanism = coterie.mechanismOf(plan);
const POINT = [0.1, -0.2, 0.3];

afterEach(() => vi.restoreAllMocks());

/** Lets the system's generator hand out these words. */
function words(...given: number[]): { left: () => number } {
  vi.spyOn(crypto, "getRandomValues").mockImplementation((array) => {
    for (let i = 0; i < (array as Uint32Array).length; i++) (array as Uint32Array)[i] = given.shift() as number;
    return array;
  });
  return { left: () => given.length };
}

describe("public functions agree with Node's", () => {
  test("SHA-256, at every length around a block", () => {
    for (let length = 0; length < 200; length++) {
      const message = randomBytes(length);
      expect(coterie.hex(coterie.sha256(message))).toBe(createHash("sha256").update(message).digest("hex"));
    }
  });
  test("AES-128 on counters", () => {
    for (let trial = 0; trial < 20; trial++) {
      const [key, prefix] = [randomBytes(16), randomBytes(12)];
      const stream = createCipheriv("aes-128-ctr", key, Buffer.concat([prefix, Buffer.from([0, 0, 0, 250])]));
      expect(coterie.hex(coterie.counter(key)(prefix, 250, 20))).toBe(stream.update(Buffer.alloc(320)).toString("hex"));
    }
  });
});

describe("below", () => {
  const word = (value: number) => [(Math.floor(value / 2 ** 32) << 11) >>> 0, value % 2 ** 32];
  test.each([3, 6860657961, 2 ** 53 - 1])("refuses words from the largest multiple of %d on", (bound) => {
    const limit = Math.floor(2 ** 53 / bound) * bound; // exact: both factors are integers below 2^53
    const coins = words(...word(limit), ...word(2 ** 53 - 1), ...word(limit - 1), ...word(0));
    expect(coterie.below(bound)).toBe(bound - 1);
    expect(coins.left()).toBe(2);
    expect(coterie.below(bound)).toBe(0);
  });
  test("keeps every word of a power of two", () => {
    words(...word(2 ** 53 - 1));
    expect(coterie.below(2 ** 30)).toBe(2 ** 30 - 1);
  });
});

test("the law of the bytes: m indices at odds A, the others at 2^24, whatever the point", () => {
  const id = bytes("626d8ec51275ee7d22ddae95");
  const { cap, odds, total, codewords } = mechanism;
  for (const point of [POINT, [0, 0, 0], [-1e300, 1e-300, 7]]) {
    let start = 0;
    const law = new Map<number, number>();
    for (let rank = 0; rank < codewords; rank++) {
      const width = rank < cap ? odds : 2 ** 24;
      const ends = [start, start + width - 1].map((draw) => coterie.report(plan, point, id, draw));
      expect(ends[0]).toEqual(ends[1]);
      expect(ends[0]?.slice(0, 12)).toEqual(id);
      law.set(ends[0]?.[12] as number, width);
      start += width;
    }
    expect(start).toBe(total);
    expect(law.size).toBe(codewords);
  }
});

test("coins come from the system, the id before the draw", () => {
  const draws = vi.spyOn(crypto, "getRandomValues");
  const first = coterie.encode(plan, POINT);
  expect(draws.mock.results.map(({ value }) => (value as Uint8Array).byteLength).slice(0, 2)).toEqual([12, 8]);
  expect(first.slice(0, 12)).toEqual(draws.mock.results[0]?.value);
  expect(coterie.encode(plan, POINT).slice(0, 12)).not.toEqual(first.slice(0, 12));
  expect(coterie.encode.length).toBeLessThanOrEqual(3);
});

describe("tokens", () => {
  const { plan: json, token, id } = tokens[1] as Vectors["tokens"][0];
  const invited = coterie.readPlan(json);
  test("go before the report, and name it", () => {
    const sent = coterie.hex(coterie.encode(invited, POINT, { token: bytes(token) }));
    expect(sent).toHaveLength(2 * (16 + 13));
    expect(sent.startsWith(token + id)).toBe(true);
  });
  test.each([undefined, new Uint8Array(15), "000102030405060708090a0b0c0d0e0f" as never])("must be 16 bytes", (wrong) => {
    expect(() => coterie.encode(invited, POINT, wrong === undefined ? {} : { token: wrong })).toThrow(coterie.ReportError);
  });
  test("are refused where ids are random", () => {
    expect(() => coterie.encode(plan, POINT, { token: bytes(token) })).toThrow("expected none");
  });
});

describe("points", () => {
  test.each([
    ["a record", { a: 1 }],
    ["null", null],
    ["a text", "123"],
    ["texts", ["0", "0", "0"]],
    ["a hole", [0, , 0]],
    ["big integers", [1n, 2n, 3n]],
    ["a list in a list", [[0], 0, 0]],
  ])("refused: %s", (_, answer) => {
    expect(() => coterie.encode(plan, answer as never)).toThrow(coterie.PointError);
  });
  test("of typed arrays are taken", () => expect(coterie.encode(plan, new Float64Array(3))).toHaveLength(13));

  test("are never quoted", () => {
    for (const answer of [[0.123456, NaN, 0], [0.123456, Infinity, 0], [0.123456, 0], ["0.123456", 0, 0]]) {
      let message = "";
      try {
        coterie.encode(plan, answer as number[]);
      } catch (error) {
        message = String(error) + String((error as Error).stack).split("\n    at")[0];
      }
      expect(message).toContain("PointError");
      expect(message).not.toMatch(/123456|NaN|Infinity|coordinate/);
    }
  });
});

describe("the policy", () => {
  const asking = (epsilon: number) => coterie.readPlan(changed(PLAN, (o) => Object.assign(o, { epsilon })));
  test("allows epsilon 4 per plan, and not a double more", () => {
    expect(coterie.encode(asking(4), POINT)).toHaveLength(13);
    const draws = vi.spyOn(crypto, "getRandomValues");
    expect(() => coterie.encode(asking(4.000000000000001), POINT)).toThrow(coterie.PolicyError);
    expect(draws).not.toHaveBeenCalled();
  });
  test("can be changed by the owner alone", () => {
    expect(coterie.encode(asking(16), POINT, { policy: { maxEpsilon: 16, maxLocalEpsilon: 16 } })).toHaveLength(13);
    expect(() => coterie.encode(plan, POINT, { policy: { maxEpsilon: 0.5 } })).toThrow("maxEpsilon 0.5");
    expect(() => coterie.encode(plan, POINT, { policy: { maxLocalEpsilon: 0.5 } })).toThrow("maxLocalEpsilon 0.5");
    expect(() => coterie.encode(plan, POINT, { policy: { maxEpsilon: NaN } })).toThrow("policy.maxEpsilon");
    expect(() => coterie.checkPolicy({ totalDelta: -1 }, plan, [])).toThrow("policy.totalDelta");
  });
  test("sums exactly: ten times 0.1 is more than 1", () => {
    const tenth = { epsilon: 0.1, delta: 0, localEpsilon: 0.1 };
    const spend = (times: number, totalEpsilon: number) => () => coterie.checkPolicy({ totalEpsilon }, asking(0.1 + 1.5), Array(times).fill(tenth) as []);
    expect(Array<number>(10).fill(0.1).reduce((a, b) => a + b)).toBeLessThan(1); // doubles would let it pass
    expect(spend(10, 2.6)).toThrow("totalEpsilon");
    expect(spend(9, 2.6)).not.toThrow();
  });
  test("shows sums rounded up", () => {
    expect(coterie.sumUp([])).toBe(0);
    expect(coterie.sumUp([1, 2])).toBe(3);
    expect(coterie.sumUp(Array<number>(10).fill(0.1))).toBe(1.0000000000000002);
    expect(coterie.sumUp([1, Number.MIN_VALUE])).toBe(1.0000000000000002);
    expect(coterie.sumUp([Number.MIN_VALUE, Number.MIN_VALUE])).toBe(2 * Number.MIN_VALUE);
  });
  test("has the defaults of the Python client", () => {
    expect(coterie.DEFAULT_POLICY).toEqual({
      maxEpsilon: 4, maxDelta: 1e-5, maxLocalEpsilon: 10, totalEpsilon: 8, totalDelta: 1e-4, totalLocalEpsilon: 12, shufflers: [],
    });
  });
});
