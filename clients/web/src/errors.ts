/**
 * What can go wrong, as one tree:
 *
 *     CoterieError
 *     ├── PlanError     the plan is not one, or does not keep its promise
 *     ├── PointError    what was given is neither a point nor a record of the plan
 *     ├── ReportError   a token or a report is not of the plan's form
 *     ├── PolicyError   the plan asks for more than the device's owner allows
 *     └── LedgerError   the ledger cannot be used; nothing was drawn
 *
 * Messages say what is wrong, where, and what was expected. None contains a person's value or anything computed from one.
 *
 * @module
 */

/** The root of every error of this package. */
export class CoterieError extends Error {
  override name = "CoterieError";
}

/** The plan is malformed, or its odds break its promise. */
export class PlanError extends CoterieError {
  override name = "PlanError";
}

/** What was given is no point of the plan's dimension, and no record. */
export class PointError extends CoterieError {
  override name = "PointError";
}

/** A token or a report is not of the plan's form. */
export class ReportError extends CoterieError {
  override name = "ReportError";
}

/** The plan asks for more than the policy allows, by itself or with those answered before. */
export class PolicyError extends CoterieError {
  override name = "PolicyError";
}

/** The ledger cannot be read or written. Never a reason to draw again. */
export class LedgerError extends CoterieError {
  override name = "LedgerError";
}
