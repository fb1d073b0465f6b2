// State of a server's tools tab: selected tool, form inputs, running call and last result. It is kept when
// the user selects another tab.
//
// - One call runs at a time. Its result is kept until the next call.
// - Inputs are kept for MAX_FORMS tools (A8, ARCHITECTURE.md). Beyond that, the oldest are deleted.

import type { CallEnd, CallProgress } from '../../wire/tools.ts';
import type { PageCall } from '../feed/call-events.ts';
import type { FieldDraft, FieldDrafts } from './fields.ts';

const MAX_FORMS = 50;

export interface FormState {
  readonly drafts: FieldDrafts;
  /** Arguments as JSON, if they are entered as JSON. */
  readonly json: string | undefined;
  /** True after the first attempt to call; before that, problems are not shown. */
  readonly wasSubmitted: boolean;
}

export interface RunningCall {
  readonly tool: string;
  /** performance.now() at the start. */
  readonly since: number;
  readonly progress: CallProgress | undefined;
  readonly isCancelled: boolean;
}

export interface EndedCall {
  readonly tool: string;
  /** Result, or the reason for a missing result. */
  readonly end: CallEnd | string;
}

const emptyForm: FormState = { drafts: new Map(), json: undefined, wasSubmitted: false };

type CallTool = (request: PageCall) => Promise<CallEnd>;

export class ToolWorkspace {
  readonly server: string;
  /** Selected tool when the tab was last shown. */
  selected: string | undefined;
  running: RunningCall | undefined;
  last: EndedCall | undefined;
  readonly #call: CallTool;
  readonly #forms = new Map<string, FormState>();
  readonly #listeners = new Set<() => void>();
  #abort = new AbortController();

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

  setDraft(tool: string, key: string, draft: FieldDraft): void {
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
    this.#notify();
  }

  /** Resets all inputs to the defaults of the schema. */
  clear(tool: string): void {
    this.#forms.delete(tool);
    this.#notify();
  }

  /** Calls the tool; resolves when the call has ended. Does nothing while another call runs. */
  async call(tool: string, args: Readonly<Record<string, unknown>>): Promise<void> {
    if (this.running !== undefined) return;
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    const since = performance.now();
    this.last = undefined;
    this.running = { tool, since, progress: undefined, isCancelled: false };
    this.#notify();
    const onProgress = (progress: CallProgress): void => {
      if (this.running === undefined) return;
      this.running = { ...this.running, progress };
      this.#notify();
    };
    const end = await this.#call({ server: this.server, tool, args, signal, onProgress }).catch(
      (error: unknown) =>
        signal.aborted
          ? `cancelled after ${Math.round(performance.now() - since)} ms`
          : ((error as Error)?.message ?? String(error)),
    );
    this.running = undefined;
    this.last = { tool, end };
    this.#notify();
  }

  cancel(): void {
    if (this.running === undefined) return;
    this.running = { ...this.running, isCancelled: true };
    this.#abort.abort();
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
