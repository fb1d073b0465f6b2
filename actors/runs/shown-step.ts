// Steps of a run for people: each row of its journal with what belongs to it, as the tool and the arguments of a call, bounded, and
// without secrets.

import type { JournalRow, ToolCall, Usage } from '../../machines/agent-run/journal.ts';
import type { Step } from '../store/run.ts';

/** Of one text, in UTF-16 units. */
export const SHOWN_TEXT = 2_000;

export interface ShownStep {
  readonly n: number;
  /** Epoch ms. */
  readonly at: number;
  readonly kind: JournalRow['kind'] | 'unknown';
  readonly text?: string | undefined;
  readonly iteration?: number | undefined;
  readonly model?: string | undefined;
  readonly tokens?: Usage | undefined;
  readonly cost?: number | undefined;
  readonly tookMs?: number | undefined;
  /** Of a call. */
  readonly call?: string | undefined;
  readonly tool?: string | undefined;
  readonly arguments?: string | undefined;
  readonly result?: string | undefined;
  readonly state?: string | undefined;
  readonly approval?: string | undefined;
  readonly by?: string | undefined;
}

/** Undefined for what is no row that is known here. */
export function rowOf({ text }: Pick<Step, 'text'>): JournalRow | undefined {
  try {
    const row = JSON.parse(text) as JournalRow | null;
    return typeof row?.kind === 'string' ? row : undefined;
  } catch {
    return undefined;
  }
}

/** The beginning of a text without secrets, so many characters of it. */
export type Excerpt = (text: string, maxChars: number) => string;

/** Goes through the rows of one journal in order, since a row of a call has no more than its id. */
export class ShownSteps {
  readonly #excerpt: Excerpt;
  readonly #calls = new Map<string, ToolCall>();

  constructor(excerpt: Excerpt) {
    this.#excerpt = excerpt;
  }

  next({ n, at, text }: Step): ShownStep {
    const row = rowOf({ text });
    if (row === undefined) return { n, at, kind: 'unknown', text: this.#shown(text) };
    return { n, at, kind: row.kind, ...this.#members(row) };
  }

  #members(row: JournalRow): Omit<ShownStep, 'n' | 'at' | 'kind'> {
    switch (row.kind) {
      case 'begun':
        return { text: this.#shown(row.messages.at(-1)?.text ?? '') };
      case 'answer': {
        for (const call of row.calls) this.#calls.set(call.id, call);
        const { iteration, model, cost, tookMs } = row;
        return { iteration, model, text: this.#shown(row.text), tokens: row.usage, cost, tookMs };
      }
      case 'unfit':
        return { iteration: row.iteration, text: this.#shown(row.reason) };
      case 'called':
        return this.#call(row.id);
      case 'result': {
        const state = row.how === 'called' ? (row.isError ? 'failed' : 'done') : row.how;
        return { ...this.#call(row.id), state, result: this.#shown(row.text), tookMs: row.tookMs };
      }
      case 'asked':
        return { approval: row.approval, ...(row.call === undefined ? {} : this.#call(row.call)) };
      case 'decided': {
        const { approval, state, by, comment } = row;
        return { approval, state, by, text: comment === undefined ? undefined : this.#shown(comment) };
      }
      case 'ended':
        return { text: this.#shown(row.text) };
      default:
        // Of a later version.
        return {};
    }
  }

  #call(id: string): Pick<ShownStep, 'call' | 'tool' | 'arguments'> {
    const call = this.#calls.get(id);
    // The name too: a model may write anything for one.
    return { call: id, tool: call && this.#shown(call.name), arguments: call && this.#shown(call.input) };
  }

  #shown(text: string): string {
    return this.#excerpt(text, SHOWN_TEXT);
  }
}
