/**
 * What a device's owner allows, per plan and in all.
 *
 * A plan comes from outside, and so does the next one. Each keeps its own promise, yet what several plans learn of one person adds up:
 * ε, δ and ε₀, each by itself. Sums and comparisons are exact.
 *
 * @module
 */
import { PolicyError } from "./errors.js";
import { exact, sum } from "./exact.js";
import { mechanismOf, type Plan } from "./plan.js";

/** What a plan may spend: ε and δ of its promise, and ε₀, what a report promises by itself (ε where nothing is mixed). */
export interface Figures {
  readonly epsilon: number;
  readonly delta: number;
  readonly localEpsilon: number;
}

/** The most that a device gives: to one plan (`max…`), and to all plans of its ledger together, for good (`total…`). */
export interface Policy {
  readonly maxEpsilon: number;
  readonly maxDelta: number;
  readonly maxLocalEpsilon: number;
  readonly totalEpsilon: number;
  readonly totalDelta: number;
  readonly totalLocalEpsilon: number;
  /** Public keys of the shufflers that are trusted to mix; without any no plan of the shuffle model is answered. */
  readonly shufflers: readonly string[];
}

/** What is allowed where the owner says nothing; of δ at most one in those who are mixed, too. */
export const DEFAULT_POLICY: Policy = Object.freeze({
  maxEpsilon: 4,
  maxDelta: 1e-5,
  maxLocalEpsilon: 10,
  totalEpsilon: 8,
  totalDelta: 1e-4,
  totalLocalEpsilon: 12,
  shufflers: [],
});

/** What an answer to the plan may spend. */
export function figuresOf(plan: Plan): Figures {
  mechanismOf(plan); // refuses what readPlan did not make
  const { epsilon, delta, localEpsilon } = plan;
  return { epsilon, delta, localEpsilon };
}

/**
 * Refuses a plan that asks for more than the policy allows: by itself; or, where what was `spent` before is given, with all of that.
 * Before anything is drawn.
 */
export function checkPolicy(changes: Partial<Policy> | undefined, plan: Plan, spent?: readonly Figures[]): void {
  const policy = { ...DEFAULT_POLICY, maxDelta: Math.min(DEFAULT_POLICY.maxDelta, 1 / plan.minimumBatch), ...changes };
  if (plan.model === "shuffle" && !policy.shufflers.length) throw new PolicyError(`plan ${plan.id}: expected a shuffler that the policy trusts; nothing was drawn`);
  const scope = spent ? "total" : "max";
  const figures = [...(spent ?? []), figuresOf(plan)];
  for (const name of ["Epsilon", "Delta", "LocalEpsilon"] as const) {
    const figure = (name[0]?.toLowerCase() + name.slice(1)) as keyof Figures;
    const limit = policy[`${scope}${name}`];
    if (typeof limit !== "number" || !(limit >= 0)) throw new PolicyError(`policy.${scope}${name}: expected a number of 0 or more`);
    if (sum(figures.map((one) => one[figure])) > exact(limit)) {
      throw new PolicyError(`plan ${plan.id}: it asks for more than ${scope}${name} ${limit}, which the policy allows; nothing was drawn`);
    }
  }
}
