// What a handler has that answers within a run: the context of the run, with a journal and a state of its own.

import type { Effects } from '../../events/inbox/work.ts';
import type { Waker } from '../../store/event.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { RunTools } from '../model-agent/tool-box.ts';
import type { PartsJournal } from './parts-journal.ts';

export interface PartContextOptions {
  readonly path: string;
  readonly run: HandlerContext;
  readonly journal: PartsJournal;
  /** Of the part: it may end before the run does. */
  readonly signal: AbortSignal;
  /** It has waited, and goes on. */
  readonly hasWaited: boolean;
  readonly onProgress: (text: string) => void;
  /** Tools that are offered to it. */
  readonly runTools?: RunTools | undefined;
  /** Of a budget that it shares with other parts. */
  readonly usedUp?: ((moreCalls: number) => string | undefined) | undefined;
}

export class PartContext implements HandlerContext {
  readonly signal: AbortSignal;
  readonly #options: PartContextOptions;
  #before: ReturnType<PartsJournal['partOf']> | undefined;

  constructor(options: PartContextOptions) {
    this.#options = options;
    this.signal = options.signal;
  }

  /**
   * Rows and state from earlier attempts, read at first use: most flow nodes never need them. A part reads before its
   * first checkpoint.
   */
  get #written(): ReturnType<PartsJournal['partOf']> {
    this.#before ??= this.#options.journal.partOf(this.#options.path);
    return this.#before;
  }

  get state(): string | undefined {
    return this.#written.state;
  }

  get leftMs(): number {
    return this.#options.run.leftMs;
  }

  get log() {
    return this.#options.run.log;
  }

  get runTools() {
    return this.#options.runTools;
  }

  usedUp(moreCalls: number): string | undefined {
    const { usedUp, run } = this.#options;
    return usedUp?.(moreCalls) ?? run.usedUp?.(moreCalls);
  }

  get tools() {
    return this.#options.run.tools;
  }

  get approvals() {
    return this.#options.run.approvals;
  }

  get says() {
    return this.#options.run.says;
  }

  get woken(): Waker | undefined {
    return this.#options.hasWaited ? this.#options.run.woken : undefined;
  }

  async steps(): Promise<readonly string[]> {
    return this.#written.texts;
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

  retrying(reason: string, inMs: number): void {
    this.#options.run.retrying(reason, inMs);
  }
}
