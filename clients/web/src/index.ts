/**
 * Locally private reports for coterie, made where the data is.
 *
 * @example
 * import { Ledger, readPlan } from "coterie-client";
 *
 * const plan = readPlan(await (await fetch(`/plans/${id}`)).text(), id);
 * const bytes = await new Ledger().answer(plan, { age: 34, plan: "paid", hour: 8.5 });
 * await fetch(`/plans/${plan.id}/reports`, { method: "POST", body: bytes });
 *
 * @module
 */
import { explain, ID_BYTES, pointOf, upload, type Answer } from "./codeword.js";
import { ReportError } from "./errors.js";
import { mechanismOf, type Plan } from "./plan.js";
import { checkPolicy, type Policy } from "./policy.js";

export type { Answer } from "./codeword.js";
export { CoterieError, LedgerError, PlanError, PointError, PolicyError, ReportError } from "./errors.js";
export { Ledger, type Entry, type Fate } from "./ledger.js";
export { readPlan, type Collection, type Plan } from "./plan.js";
export { DEFAULT_POLICY, type Figures, type Policy } from "./policy.js";
export type * from "./schema.js";

/**
 * One report, without a ledger: the promise holds per call, and nobody counts the calls. Pages use {@link Ledger}.
 *
 * @param answer A point (an array of numbers), or a record where the plan has features.
 * @param options.token The invitation, 16 bytes, where the plan's ids follow from tokens; it is sent before the report.
 * @param options.policy What the device's owner allows, where it differs from {@link DEFAULT_POLICY}.
 * @returns The bytes to send: 13 or 14, and 16 more with a token.
 *
 * @example
 * const bytes = encode(plan, [0.1, -0.2, 0.3]);
 */
export function encode(plan: Plan, answer: Answer, options: { token?: Uint8Array; policy?: Partial<Policy> } = {}): Uint8Array {
  checkPolicy(options.policy, plan);
  return upload(plan, answer, options.token);
}

/**
 * With what probability an answer would have made this very report, given its public id: what a page shows a person
 * before anything is sent. It looks at the answer and stays on the device.
 *
 * @param report The report's 13 or 14 bytes, without a token.
 * @returns `plan.chances.inside` or `plan.chances.outside`; the two differ by a factor of at most e^ε.
 *
 * @example
 * const report = encode(plan, { member: true });
 * const doubt = chance(plan, report, { member: false }) / chance(plan, report, { member: true });
 */
export function chance(plan: Plan, report: Uint8Array, answer: Answer): number {
  const mechanism = mechanismOf(plan);
  const index = report.slice(ID_BYTES).reduce((value, byte) => value * 256 + byte, 0);
  if (report.length !== plan.reportBytes || index >= mechanism.codewords) {
    throw new ReportError(`report: expected ${plan.reportBytes} bytes with an index below ${mechanism.codewords}`);
  }
  const { order } = explain(mechanism, pointOf(plan, answer), report);
  return order.indexOf(index) < mechanism.cap ? plan.chances.inside : plan.chances.outside;
}
