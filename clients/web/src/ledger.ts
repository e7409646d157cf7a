/**
 * The ledger: one answer per plan and study, ever, and the sums of what was spent, kept in IndexedDB.
 *
 * A report is in the database, flushed, before anybody gets it; asked again, the ledger gives the same bytes, whatever the value is
 * now. One exclusive Web Lock and one transaction hold the reading, the draw and the writing together, so two tabs cannot both
 * draw. A ledger that cannot be read is an error, never a reason to draw again.
 *
 * @module
 */
import { TOKEN_BYTES, upload, type Answer } from "./codeword.js";
import { CoterieError, LedgerError } from "./errors.js";
import { sumUp } from "./exact.js";
import type { Plan } from "./plan.js";
import { checkPolicy, figuresOf, type Figures, type Policy } from "./policy.js";

/** What became of an answer, as far as this device knows. It only moves on: what was taken in is not refused later, and what was withdrawn stays so. */
export type Fate = "drawn" | "refused" | "sent" | "withdrawn";

/** One answered plan. */
export interface Entry extends Figures {
  /** The plan's id. */
  readonly plan: string;
  /** The id of the study's first plan. */
  readonly study: string;
  /** Days since 1970-01-01. */
  readonly day: number;
  /** What was sent: the report, after the token if there is one. */
  readonly answer: Uint8Array;
  /** What became of it; an earlier version kept none. */
  readonly fate?: Fate;
  /** Why a collector did not take it in, in its word; empty otherwise. */
  readonly reason?: string;
}

const FATES: readonly Fate[] = ["drawn", "refused", "sent", "withdrawn"]; // in the order in which they can follow
const STORE = "answers";
const HEX = /^[0-9a-f]{64}$/;

/**
 * A ledger of this origin. Pages of other origins have their own.
 *
 * @example
 * const ledger = new Ledger();
 * const bytes = await ledger.answer(plan, { age: 34, plan: "paid" }); // sent again after a failure: the same bytes
 * await fetch(`/plans/${plan.id}/reports`, { method: "POST", body: bytes });
 */
export class Ledger {
  readonly #name: string;

  /** @param name The database's name. */
  constructor(name = "coterie-ledger") {
    this.#name = name;
  }

  /**
   * The one answer to a plan: made, kept and then returned; or the one that was kept before.
   *
   * @param options.token The invitation, 16 bytes, where the plan's ids follow from tokens.
   * @param options.policy What the device's owner allows, where it differs from the default.
   * @throws PolicyError if the plan asks for more than the policy allows, by itself or with all that were answered.
   * @throws LedgerError if another plan of the study was answered, or the answer could not be kept: then nothing may be sent.
   */
  async answer(plan: Plan, answer: Answer, options: { token?: Uint8Array; policy?: Partial<Policy> } = {}): Promise<Uint8Array> {
    checkPolicy(options.policy, plan);
    return this.#locked("readwrite", (store, entries) => {
      const known = entries.find((entry) => entry.plan === plan.id);
      if (known) {
        if (known.answer.length !== plan.reportBytes + (plan.ids === "token" ? TOKEN_BYTES : 0)) throw damaged();
        return known.answer;
      }
      if (entries.some((entry) => entry.study === plan.study)) {
        throw new LedgerError(`plan ${plan.id}: another plan of its study was answered, expected one per study`);
      }
      checkPolicy(options.policy, plan, entries);
      const made: Entry = {
        plan: plan.id,
        study: plan.study,
        day: Math.floor(Date.now() / 864e5),
        ...figuresOf(plan),
        answer: upload(plan, answer, options.token),
      };
      store.add(made); // an entry that is there would stop the transaction
      return made.answer;
    });
  }

  /**
   * Keeps what became of the answer to a plan, unless more is known already.
   *
   * @returns The entry as it is kept now.
   * @throws LedgerError if the plan was not answered here, or it could not be kept.
   */
  async settle(plan: Plan, fate: Fate, reason = ""): Promise<Entry> {
    return this.#locked("readwrite", (store, entries) => {
      const known = entries.find((entry) => entry.plan === plan.id);
      if (!known) throw new LedgerError(`plan ${plan.id}: expected one that was answered here`);
      if (FATES.indexOf(fate) < FATES.indexOf(known.fate ?? "drawn")) return known;
      const entry = { ...known, fate, reason };
      store.put(entry);
      return entry;
    });
  }

  /** The plans that were answered. They say in which studies somebody took part: they are for that person. */
  async entries(): Promise<Entry[]> {
    return this.#locked("readonly", (_, entries) => entries);
  }

  /** What all answers together may have spent: exact sums, rounded up. */
  async spent(): Promise<Figures> {
    const entries = await this.entries();
    const total = (name: keyof Figures) => sumUp(entries.map((entry) => entry[name]));
    return { epsilon: total("epsilon"), delta: total("delta"), localEpsilon: total("localEpsilon") };
  }

  /** Runs `work` alone among all tabs, in one transaction; resolves once the transaction is on the disk. */
  async #locked<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore, entries: Entry[]) => T): Promise<T> {
    if (!globalThis.navigator?.locks || !globalThis.indexedDB) {
      throw new LedgerError("ledger: expected Web Locks and IndexedDB, which secure contexts have (https, localhost)");
    }
    return navigator.locks.request(this.#name, async () => {
      let database: IDBDatabase | undefined;
      try {
        const request = indexedDB.open(this.#name, 1);
        request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "plan" });
        database = await settled(request);
        const transaction = database.transaction(STORE, mode, { durability: "strict" });
        const written = completed(transaction);
        const store = transaction.objectStore(STORE);
        const result = work(store, checked((await settled(store.getAll())) as Entry[]));
        await written;
        return result;
      } catch (error) {
        if (error instanceof CoterieError) throw error;
        throw new LedgerError(`ledger: not usable (${(error as Error | null)?.name}); nothing was sent`);
      } finally {
        database?.close(); // an unfinished transaction ends with whatever was asked of it: nothing, after an error
      }
    });
  }
}

function completed(transaction: IDBTransaction): Promise<void> {
  const promise = new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
  promise.catch(() => undefined); // awaited only where the work went well
  return promise;
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Entries as they must be; anything else is an error. */
function checked(entries: Entry[]): Entry[] {
  for (const { plan, study, day, answer, epsilon, delta, localEpsilon, fate = "drawn", reason = "" } of entries) {
    const numbers = [day, epsilon, delta, localEpsilon];
    if (!HEX.test(plan) || !HEX.test(study) || !(answer instanceof Uint8Array) || !numbers.every((x) => x >= 0 && Number.isFinite(x)) || !FATES.includes(fate) || typeof reason !== "string") {
      throw damaged();
    }
  }
  return entries;
}

function damaged(): LedgerError {
  return new LedgerError("ledger: an entry is damaged, expected plan, study, day, figures and answer; nothing was drawn");
}
