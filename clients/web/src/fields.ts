/**
 * Checks of single fields. Each takes the value, where it stands, and what is allowed; each returns it with its type.
 *
 * @module
 */
import { PlanError } from "./errors.js";
import { isObject, quote, Real, type Json, type JsonObject } from "./json.js";

export function refuse(where: string, expected: string): never {
  throw new PlanError(`${where}: expected ${expected}`);
}

/** An object with exactly these fields; of `optional` ones it may have any. */
export function fields(value: Json | undefined, where: string, names: string, optional = ""): JsonObject {
  if (!isObject(value)) refuse(where, "an object");
  const wanted = names.split(" ");
  for (const name of wanted) {
    if (!(name in value)) refuse(where, `a field ${name}`);
  }
  for (const name in value) {
    if (!wanted.includes(name) && !optional.split(" ").includes(name)) refuse(where, `no field ${quote(name)}`);
  }
  return value;
}

/** Reads fields of an object by name, each with one of the checks below. */
export function reader(object: JsonObject, where: string) {
  return <Limits extends unknown[], Value>(
    check: (value: Json | undefined, where: string, ...limits: Limits) => Value,
    name: string,
    ...limits: Limits
  ): Value => check(object[name], `${where}.${name}`, ...limits);
}

export function array(value: Json | undefined, where: string, least: number, most: number): Json[] {
  if (!Array.isArray(value) || value.length < least || value.length > most) {
    refuse(where, `an array of ${least} to ${most}`);
  }
  return value;
}

export function integer(value: Json | undefined, where: string, least: number, most: number): number {
  if (typeof value !== "number" || value < least || value > most) refuse(where, `an integer from ${least} to ${most}`);
  return value;
}

export function power(value: Json | undefined, where: string, least: number, most: number): number {
  const size = integer(value, where, least, most);
  if (!isPower(size)) refuse(where, "a power of two");
  return size;
}

export function isPower(size: number): boolean {
  return size > 0 && size <= 2 ** 30 && (size & (size - 1)) === 0;
}

/** A number spelt in any way. */
export function real(value: Json | undefined, where: string, least: number, most: number): number {
  const double = value instanceof Real ? value.value : value;
  if (typeof double !== "number" || double < least || double > most) refuse(where, `a number from ${least} to ${most}`);
  return double;
}

/** One of some texts, given with spaces between. */
export function choice<Name extends string>(value: Json | undefined, where: string, names: readonly Name[]): Name {
  if (typeof value !== "string" || !(names as readonly string[]).includes(value)) {
    refuse(where, names.map((name) => JSON.stringify(name)).join(" or "));
  }
  return value as Name;
}

/** Text of so many code points, without control characters and lone surrogates. */
export function text(value: Json | undefined, where: string, least: number, most: number): string {
  if (typeof value !== "string" || /[\p{Cc}\p{Surrogate}]/u.test(value)) refuse(where, "text without control characters");
  const length = [...value].length;
  if (length < least || length > most) refuse(where, `${least} to ${most} code points`);
  return value;
}

export function planId(value: Json | undefined, where: string): string {
  if (typeof value !== "string" || !/^[0-9a-f]{64}$/.test(value)) refuse(where, "a plan id, 64 lower-case hex digits");
  return value;
}

/** Whether all are different. */
export function distinct(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}
