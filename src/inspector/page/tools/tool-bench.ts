// What somebody does with the tools of one server: which was looked at last, what was given for its arguments, the call that goes on and how the
// last one has ended. It outlives the tab that shows it, so that a look at the log loses nothing.
//
// TBN1       one call of a server at a time; the end of the last one stays until the next has begun.
// TBN2 (A8)  what was given is kept for MAX_FORMS tools; the oldest are forgotten.

import type { CallEnd, ShownProgress } from '../../wire/tool-wire.ts';
import type { CallAsked } from '../feed/call-events.ts';
import type { Draft, Drafts } from './fields.ts';

const MAX_FORMS = 50;

/** What was given for the arguments of one tool. */
export interface FormState {
  readonly drafts: Drafts;
  /** The arguments as JSON, where somebody writes all of them as that. */
  readonly json: string | undefined;
  /** A call was tried: what is wrong is told from then on. */
  readonly isTried: boolean;
}

export interface RunningCall {
  readonly tool: string;
  /** performance.now() of its beginning. */
  readonly since: number;
  readonly progress: ShownProgress | undefined;
  readonly isCancelled: boolean;
}

export interface EndedCall {
  readonly tool: string;
  /** In full, or why there is none. */
  readonly end: CallEnd | string;
}

const emptyForm: FormState = { drafts: new Map(), json: undefined, isTried: false };

type CallTool = (asked: CallAsked) => Promise<CallEnd>;

export class ToolBench {
  readonly server: string;
  /** As the address named it when the tab was shown last. */
  chosen: string | undefined;
  running: RunningCall | undefined;
  last: EndedCall | undefined;
  readonly #call: CallTool;
  readonly #forms = new Map<string, FormState>();
  readonly #listeners = new Set<() => void>();
  #leaving = new AbortController();

  constructor(server: string, call: CallTool) {
    this.server = server;
    this.#call = call;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  formOf(tool: string): FormState {
    return this.#forms.get(tool) ?? emptyForm;
  }

  give(tool: string, key: string, draft: Draft): void {
    const form = this.formOf(tool);
    this.change(tool, { drafts: new Map([...form.drafts, [key, draft]]) });
  }

  change(tool: string, change: Partial<FormState>): void {
    const form = { ...this.formOf(tool), ...change };
    this.#forms.delete(tool);
    this.#forms.set(tool, form);
    for (const oldest of this.#forms.keys()) {
      if (this.#forms.size <= MAX_FORMS) break;
      this.#forms.delete(oldest);
    }
    this.#tell();
  }

  /** Everything is as the schema gives it. */
  clear(tool: string): void {
    this.#forms.delete(tool);
    this.#tell();
  }

  /** Resolves when it has ended. Does nothing while another goes on. */
  async call(tool: string, args: Readonly<Record<string, unknown>>): Promise<void> {
    if (this.running !== undefined) return;
    this.#leaving = new AbortController();
    const { signal } = this.#leaving;
    const since = performance.now();
    this.last = undefined;
    this.running = { tool, since, progress: undefined, isCancelled: false };
    this.#tell();
    const onProgress = (progress: ShownProgress): void => {
      if (this.running === undefined) return;
      this.running = { ...this.running, progress };
      this.#tell();
    };
    const end = await this.#call({ server: this.server, tool, args, signal, onProgress }).catch(
      (error: unknown) =>
        signal.aborted
          ? `cancelled after ${Math.round(performance.now() - since)} ms`
          : ((error as Error)?.message ?? String(error)),
    );
    this.running = undefined;
    this.last = { tool, end };
    this.#tell();
  }

  cancel(): void {
    if (this.running === undefined) return;
    this.running = { ...this.running, isCancelled: true };
    this.#leaving.abort();
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
