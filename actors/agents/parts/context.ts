// Handler context for part of a run (flow node or fleet member): the run's context, but with the part's own
// journal rows and state.

import type { Effects } from '../../events/inbox/work.ts';
import type { Waker } from '../../store/event.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { RunTools } from '../model-agent/tool-box.ts';
import { parseStoredRow, type StoredRow } from '../runs/stored-rows.ts';
import type { PartsJournal } from './journal.ts';

export interface PartContextOptions {
  readonly path: string;
  readonly run: HandlerContext;
  readonly journal: PartsJournal;
  /** Signal of the part, which may stop before the run. */
  readonly signal: AbortSignal;
  /** True if the part resumes after waiting. Only then it gets the event that woke the run (`waker`). */
  readonly hasWaited: boolean;
  readonly onProgress: (text: string) => void;
  /** Tools offered to the part. */
  readonly runTools?: RunTools | undefined;
  /** Checks a budget that several parts share. */
  readonly exceededLimit?: ((moreCalls: number) => string | undefined) | undefined;
}

export class PartContext implements HandlerContext {
  readonly signal: AbortSignal;
  readonly #options: PartContextOptions;
  #cachedEarlier: ReturnType<PartsJournal['partOf']> | undefined;

  constructor(options: PartContextOptions) {
    this.#options = options;
    this.signal = options.signal;
  }

  /**
   * Rows and state from earlier attempts, read on first use, because most flow nodes never need them. A part
   * reads them before its first checkpoint.
   */
  get #earlier(): ReturnType<PartsJournal['partOf']> {
    this.#cachedEarlier ??= this.#options.journal.partOf(this.#options.path);
    return this.#cachedEarlier;
  }

  get state(): string | undefined {
    return this.#earlier.state;
  }

  get remainingMs(): number {
    return this.#options.run.remainingMs;
  }

  get log() {
    return this.#options.run.log;
  }

  get clock() {
    return this.#options.run.clock;
  }

  get runTools() {
    return this.#options.runTools;
  }

  exceededLimit(moreCalls: number): string | undefined {
    const { exceededLimit, run } = this.#options;
    return exceededLimit?.(moreCalls) ?? run.exceededLimit?.(moreCalls);
  }

  get tools() {
    return this.#options.run.tools;
  }

  get approvals() {
    return this.#options.run.approvals;
  }

  get messages() {
    return this.#options.run.messages;
  }

  get waker(): Waker | undefined {
    return this.#options.hasWaited ? this.#options.run.waker : undefined;
  }

  async steps(): Promise<readonly StoredRow[]> {
    return this.#earlier.texts.map(parseStoredRow);
  }

  async checkpoint(state: string | null | undefined, effects: Effects = {}): Promise<void> {
    this.signal.throwIfAborted();
    const { path, journal } = this.#options;
    journal.addOfPart(path, state, effects);
    await journal.flush();
  }

  progress(text: string): void {
    if (!this.signal.aborted) this.#options.onProgress(text);
  }

  reportRetry(reason: string, inMs: number): void {
    this.#options.run.reportRetry(reason, inMs);
  }
}
