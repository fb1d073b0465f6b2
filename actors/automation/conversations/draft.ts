// Draft: a message that shows an unfinished answer. The first text is an outbox row, committed with a
// checkpoint; later texts edit that message directly and are not stored. Finally the answer replaces it
// (messages.ts). Fast answers, and repetitions of answered events, get no draft. Only the newest text is
// shown. Edits are sequential and respect the platform's interval and pauses; failed edits do not affect the
// run. After `end` has returned false, no edit changes the message.

import { within } from '../../base/time/within.ts';
import type { Assignment } from '../../events/inbox/work.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { Outbound } from '../../events/outbox/outbound.ts';
import { renderedOf } from '../../events/outbox/rows.ts';
import type { NewEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { wasTried } from '../works/attempts.ts';
import { draftEdit, draftRow, draftRowId, finalRowIds, type RoutedEvent } from './messages.ts';

export interface DraftOptions {
  readonly outbound: Outbound;
  readonly routedEvent: RoutedEvent;
  readonly checkpoint: Assignment['checkpoint'];
  readonly records: Pick<Store, 'delivery'>;
  /** Aborted when the run must stop. */
  readonly signal: AbortSignal;
  /** Delay before the first message. @default 1000 */
  readonly afterMs?: number | undefined;
}

/** Default of `DraftOptions.afterMs`. */
const AFTER_MS = 1_000;
/** Texts up to this length are checked for blanks when they arrive. */
const MAX_CHECKED = 1_000;
/** Timeout per edit. */
const EDIT_MS = 10_000;
/** Maximum wait for the current edit; longer if the edit could overwrite the answer. */
const MAX_WAIT_MS = 5_000;

export class Draft {
  readonly #options: DraftOptions;
  /** Text to show next; a failed update restores it unless a newer text has arrived. */
  #newest: string | undefined;
  /** Content of the message as JSON; undefined if unknown. */
  #shownJson: string | undefined;
  #hasMessage = false;
  #isOver = false;
  #receipt: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Next update time, in performance.now() milliseconds. */
  #nextAt: number | undefined;
  /** Current update. */
  #updating: Promise<void> | undefined;
  /** Aborts the current edit. */
  #edit: AbortController | undefined;

  constructor(options: DraftOptions) {
    this.#options = options;
  }

  /** True if a message exists or may exist. */
  get hasMessage(): boolean {
    return this.#hasMessage;
  }

  /** Schedules an update with the newest text. */
  show(text: string): void {
    const { signal, afterMs = AFTER_MS } = this.#options;
    if (this.#isOver || signal.aborted || isBlank(text)) return;
    this.#newest = text;
    this.#nextAt ??= performance.now() + afterMs;
    if (this.#timer === undefined && this.#updating === undefined) this.#schedule(this.#nextAt);
  }

  /** Stops all updates. Returns true if an edit in progress may still change the message. */
  async end(): Promise<boolean> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    const updating = this.#updating;
    if (updating === undefined) return false;
    // Some platforms show the draft as a preview, which the answer replaces. A late edit would overwrite the
    // answer there, so the wait is longer.
    const waitMs = this.#options.outbound.replacesPreview === true ? EDIT_MS + MAX_WAIT_MS : MAX_WAIT_MS;
    const updated = updating.then(() => false);
    const mayStillChange = await within(waitMs, updated, () => true);
    this.#edit?.abort();
    return mayStillChange;
  }

  /** `at` in performance.now() milliseconds. */
  #schedule(at: number): void {
    const update = () => {
      this.#timer = undefined;
      this.#updating = this.#update().then((pauseMs) => {
        this.#updating = undefined;
        this.#nextAt = performance.now() + pauseMs;
        if (this.#newest !== undefined && !this.#isOver) this.#schedule(this.#nextAt);
      });
    };
    this.#timer = setTimeout(update, Math.max(0, at - performance.now())).unref();
  }

  /** Returns the pause before the next update. */
  async #update(): Promise<number> {
    const { outbound, routedEvent, signal } = this.#options;
    const text = this.#newest;
    try {
      const target = outbound.target(routedEvent.trigger, routedEvent.inbound);
      if (signal.aborted || text === undefined || target === undefined) {
        this.#isOver = true;
        return 0;
      }
      const everyMs = outbound.editIntervalMs?.(target) ?? 0;
      this.#newest = undefined;
      if (text.trim() === '') return everyMs;
      if (this.#hasMessage) return Math.max(everyMs, await this.#sendEdit(text));
      await this.#post(text);
      return everyMs;
    } catch {
      // Lost claim, store failure, unsupported text or adapter error.
      this.#isOver = true;
      return 0;
    }
  }

  async #post(text: string): Promise<void> {
    const { routedEvent, records, checkpoint } = this.#options;
    // When an earlier attempt has stored the answer, no draft is needed.
    const before = await Promise.all(finalRowIds(routedEvent.event.id).map((id) => records.delivery(id)));
    const row = before.every((each) => each === undefined) ? draftRow(routedEvent, text) : undefined;
    if (row === undefined || this.#isOver) {
      this.#isOver = true;
      return;
    }
    this.#hasMessage = true;
    await checkpoint(undefined, { emit: [row] });
    // An earlier attempt may have sent the row with a different text.
    if (wasTried(routedEvent.event)) this.#newest ??= text;
    else this.#shownJson = jsonOf(draftEdit(routedEvent, text));
  }

  /** Returns the pause requested by the platform. */
  async #sendEdit(text: string): Promise<number> {
    const { outbound, routedEvent, signal } = this.#options;
    const edit = draftEdit(routedEvent, text);
    const json = jsonOf(edit);
    if (edit === undefined || json === this.#shownJson) return 0;
    const id = await this.#messageId();
    if (id === undefined) {
      this.#newest ??= text;
      return 0;
    }
    if (this.#isOver) return 0;
    this.#edit = new AbortController();
    const signals = [signal, this.#edit.signal, AbortSignal.timeout(EDIT_MS)];
    try {
      await outbound.send(routedEvent.trigger, renderedOf(edit), {
        signal: AbortSignal.any(signals),
        rowId: draftRowId(routedEvent.event.id),
        createdAt: Date.now(),
        wasTried: true,
        receiptOf: async () => ({ id }),
      });
      this.#shownJson = json;
      return 0;
    } catch (error) {
      const { isFinal = false, retryAfterMs = 0 } = error instanceof DeliveryError ? error : {};
      if (isFinal) this.#isOver = true;
      this.#newest ??= text;
      return retryAfterMs;
    }
  }

  /** Returns the platform's message id; undefined until it was sent. */
  async #messageId(): Promise<string | undefined> {
    if (this.#receipt !== undefined) return this.#receipt;
    const row = await this.#options.records.delivery(draftRowId(this.#options.routedEvent.event.id));
    this.#receipt = row?.receipt;
    if (this.#receipt === undefined && (row === undefined || FINAL_STATES.has(row.state)))
      this.#isOver = true;
    return this.#receipt;
  }
}

/** Returns true for a blank text. Long texts are checked when shown, because each check copies the text. */
const isBlank = (text: string) => text.length <= MAX_CHECKED && text.trim() === '';

const jsonOf = (row: NewEvent | undefined) => row && Buffer.from(row.body).toString('utf8');

const FINAL_STATES: ReadonlySet<string> = new Set(['done', 'dead', 'ignored']);
