// What there is of an answer while it is being made, as one message that changes. The first text is a row of the outbox, kept
// with a checkpoint; later ones edit the message of that row from here, and are kept nowhere. In the end the answer stands in
// its place (replies.ts).
//
// An answer that comes within a moment has no draft.
//
// DR1  of several texts the newest counts. Edits are as far apart as the platform has them, and further where it says so, one
//      at a time. What one of them fails with is of no consequence for the run.
// DR2  when `end` resolves nothing from here changes the message any more, or it says that something may.
// DR3  an event that has had its answer, or was told of its end, shows nothing when it is run again: those rows are sent once.
// DR4  a text costs nothing until it is shown, however large it is and in however small pieces it grows.

import type { Assignment } from '../../events/inbox/work.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { Outbound } from '../../events/outbox/outbound.ts';
import { renderedOf } from '../../events/outbox/outbox-rows.ts';
import type { NewEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { wasTried } from '../works/attempts.ts';
import { draftEdit, draftRow, draftRowId, lastWordIds, type Taken } from './replies.ts';

export interface DraftOptions {
  readonly outbound: Outbound;
  readonly taken: Taken;
  readonly checkpoint: Assignment['checkpoint'];
  readonly records: Pick<Store, 'delivery'>;
  /** Aborted when the run is to end. */
  readonly signal: AbortSignal;
  /** Between the first text and its message. @default 1000 */
  readonly afterMs?: number | undefined;
}

const AFTER_MS = 1_000;
/** Characters of a text that is looked into as often as it comes. */
const MAX_LOOKED_AT = 1_000;
/** Of one edit. */
const EDIT_MS = 10_000;
/** So long the answer waits for an edit that is under way; where its post would be overwritten too, until that edit has given up. */
const PATIENCE_MS = 5_000;

export class Draft {
  readonly #options: DraftOptions;
  #newest: string | undefined;
  /** As JSON; undefined where it is not known. */
  #shown: string | undefined;
  #wasBegun = false;
  #isOver = false;
  #receipt: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Nothing is shown before this, in performance.now() milliseconds. */
  #nextAt: number | undefined;
  /** A text on its way. */
  #step: Promise<void> | undefined;
  #edit: AbortController | undefined;

  constructor(options: DraftOptions) {
    this.#options = options;
  }

  /** There is a message, or there may be one. */
  get wasBegun(): boolean {
    return this.#wasBegun;
  }

  show(text: string): void {
    const { signal, afterMs = AFTER_MS } = this.#options;
    if (this.#isOver || signal.aborted || isBlank(text)) return;
    this.#newest = text;
    this.#nextAt ??= performance.now() + afterMs;
    if (this.#timer === undefined && this.#step === undefined) this.#goOn(this.#nextAt);
  }

  /** Shows nothing more. Gives whether an edit that does not end may still change the message. */
  async end(): Promise<boolean> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    const step = this.#step;
    if (step === undefined) return false;
    const patienceMs = this.#options.outbound.isPostInPlace === true ? EDIT_MS + PATIENCE_MS : PATIENCE_MS;
    let patience: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      patience = setTimeout(resolve, patienceMs, true);
    });
    const isInDoubt = await Promise.race([step.then(() => false), late]);
    clearTimeout(patience);
    this.#edit?.abort();
    return isInDoubt;
  }

  /** `at` in performance.now() milliseconds. */
  #goOn(at: number): void {
    const step = () => {
      this.#timer = undefined;
      this.#step = this.#next().then((pauseMs) => {
        this.#step = undefined;
        this.#nextAt = performance.now() + pauseMs;
        if (this.#newest !== undefined && !this.#isOver) this.#goOn(this.#nextAt);
      });
    };
    this.#timer = setTimeout(step, Math.max(0, at - performance.now())).unref();
  }

  /** Gives the pause before the next. */
  async #next(): Promise<number> {
    const { outbound, taken, signal } = this.#options;
    const text = this.#newest;
    try {
      const target = outbound.target(taken.trigger, taken.inbound);
      if (signal.aborted || text === undefined || target === undefined) {
        this.#isOver = true;
        return 0;
      }
      const everyMs = outbound.editsEveryMs?.(target) ?? 0;
      this.#newest = undefined;
      if (text.trim() === '') return everyMs;
      if (this.#wasBegun) return Math.max(everyMs, await this.#change(text));
      await this.#begin(text);
      return everyMs;
    } catch {
      // The claim is lost, the store takes nothing, the text has no form there, or the adapter has a fault.
      this.#isOver = true;
      return 0;
    }
  }

  async #begin(text: string): Promise<void> {
    const { taken, records, checkpoint } = this.#options;
    const before = await Promise.all(lastWordIds(taken.event.id).map((id) => records.delivery(id)));
    const row = before.every((each) => each === undefined) ? draftRow(taken, text) : undefined;
    if (row === undefined || this.#isOver) {
      this.#isOver = true;
      return;
    }
    this.#wasBegun = true;
    await checkpoint(undefined, { emit: [row] });
    // An attempt before this one may have had it say something else.
    if (wasTried(taken.event)) this.#newest ??= text;
    else this.#shown = jsonOf(draftEdit(taken, text));
  }

  /** Gives for how long the platform takes no more. */
  async #change(text: string): Promise<number> {
    const { outbound, taken, signal } = this.#options;
    const edit = draftEdit(taken, text);
    const json = jsonOf(edit);
    if (edit === undefined || json === this.#shown) return 0;
    const id = await this.#sentAs();
    if (id === undefined) {
      this.#newest ??= text;
      return 0;
    }
    if (this.#isOver) return 0;
    this.#edit = new AbortController();
    const signals = [signal, this.#edit.signal, AbortSignal.timeout(EDIT_MS)];
    try {
      await outbound.send(taken.trigger, renderedOf(edit), {
        signal: AbortSignal.any(signals),
        rowId: draftRowId(taken.event.id),
        madeAt: Date.now(),
        wasTried: true,
        receiptOf: async () => ({ id }),
      });
      this.#shown = json;
      return 0;
    } catch (error) {
      const { isFinal = false, retryAfterMs = 0 } = error instanceof DeliveryError ? error : {};
      if (isFinal) this.#isOver = true;
      this.#newest ??= text;
      return retryAfterMs;
    }
  }

  /** The platform's id of the message; undefined while it has not left. */
  async #sentAs(): Promise<string | undefined> {
    if (this.#receipt !== undefined) return this.#receipt;
    const row = await this.#options.records.delivery(draftRowId(this.#options.taken.event.id));
    this.#receipt = row?.receipt;
    if (this.#receipt === undefined && (row === undefined || ENDED.has(row.state))) this.#isOver = true;
    return this.#receipt;
  }
}

/** Of a long text it is found out when that is shown: to look into one that has grown by a piece costs a copy of the whole. */
const isBlank = (text: string) => text.length <= MAX_LOOKED_AT && text.trim() === '';

const jsonOf = (row: NewEvent | undefined) => row && Buffer.from(row.body).toString('utf8');

const ENDED: ReadonlySet<string> = new Set(['done', 'dead', 'ignored']);
