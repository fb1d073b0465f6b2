// Steps of a run for people: each row of its journal with what belongs to it, as the tool and the arguments of a call, bounded, and
// without secrets.

import type { JournalRow, ToolCall } from '../../../machines/agent-run/journal.ts';
import type { FlowRow } from '../../../machines/flow-run/rows.ts';
import type { Step } from '../../store/run.ts';
import { type DefinedGraph, definedGraph, takenIn } from './defined-graph.ts';
import type { ShownStep } from './step-for-people.ts';

/** A journal row with unknown members: later versions may have written it. */
export type PlainRow = Readonly<Record<string, unknown>>;

/** Returns the row as an object; empty for invalid rows. */
export function plainRow(text: string): PlainRow {
  try {
    const row = JSON.parse(text) as PlainRow | null;
    return typeof row === 'object' && row !== null ? row : {};
  } catch {
    return {};
  }
}

/** Returns the definition in the first row of a flow or fleet; undefined for other rows. */
export function definitionIn({
  kind,
  in: at,
  definition,
}: PlainRow): { readonly kind: 'flow' | 'fleet'; readonly definition: string } | undefined {
  if ((kind !== 'flow' && kind !== 'fleet') || at !== undefined || typeof definition !== 'string')
    return undefined;
  return { kind, definition };
}

/** Limit of one text, in UTF-16 units. */
export const SHOWN_TEXT = 2_000;

type Members = Omit<ShownStep, 'n' | 'at' | 'kind' | 'part'>;

/** What a part has of its run, or a part of a part: said by the part, or of it. */
type PartRow =
  | FlowRow
  | { readonly kind: 'dropped' | 'kept' }
  | { readonly kind: 'parked'; readonly isForPeople: boolean; readonly until?: number | undefined }
  | { readonly kind: 'said'; readonly of: string }
  | { readonly kind: 'fleet'; readonly input: string }
  | {
      readonly kind: 'flow';
      readonly input: string;
      readonly parameters: Readonly<Record<string, string>>;
    };

type ShownRow = JournalRow | PartRow;

/** Undefined for what is no row that is known here. */
export function rowOf({ text }: Pick<Step, 'text'>): JournalRow | undefined {
  const row = plainRow(text);
  return typeof row.kind === 'string' ? (row as unknown as JournalRow) : undefined;
}

/** The beginning of a text without secrets, so many characters of it. */
export type Excerpt = (text: string, maxChars: number) => string;

/** Goes through the rows of one journal in order, since a row of a call has no more than its id. */
export class ShownSteps {
  readonly #excerpt: Excerpt;
  /** By part and id: agents in one run may have calls of the same ids. */
  readonly #calls = new Map<string, ToolCall>();
  /** Of a flow. */
  #graph: DefinedGraph | undefined;

  constructor(excerpt: Excerpt) {
    this.#excerpt = excerpt;
  }

  next({ n, at, text }: Step): ShownStep {
    const whole = plainRow(text);
    const { in: path, ...row } = whole;
    if (typeof row.kind !== 'string') return { n, at, kind: 'unknown', text: this.#shown(text) };
    const { kind, definition } = definitionIn(whole) ?? {};
    if (kind === 'flow' && definition !== undefined) this.#graph = definedGraph(definition);
    const within = typeof path === 'string' ? path : partIn(row);
    const part = within === undefined ? {} : { part: this.#shown(within) };
    return { n, at, kind: row.kind, ...part, ...this.#members(row as unknown as ShownRow, within) };
  }

  #members(row: ShownRow, part: string | undefined): Members {
    switch (row.kind) {
      case 'begun':
        return { text: this.#shown(row.messages.at(-1)?.text ?? '') };
      case 'answer': {
        for (const call of row.calls) this.#calls.set(callKey(part, call.id), call);
        const { iteration, model, cost, tookMs } = row;
        return { iteration, model, text: this.#shown(row.text), tokens: row.usage, cost, tookMs };
      }
      case 'unfit':
        return { iteration: row.iteration, text: this.#shown(row.reason) };
      case 'called':
        return this.#call(part, row.id);
      case 'result': {
        const state = row.how === 'called' ? (row.isError ? 'failed' : 'done') : row.how;
        return { ...this.#call(part, row.id), state, result: this.#shown(row.text), tookMs: row.tookMs };
      }
      case 'asked':
        return { approval: row.approval, ...(row.call === undefined ? {} : this.#call(part, row.call)) };
      case 'decided': {
        const { approval, state, by, comment } = row;
        return { approval, state, by, text: comment === undefined ? undefined : this.#shown(comment) };
      }
      case 'ended':
        return { text: this.#shown(row.text) };
      case 'fleet':
        return { text: this.#shown(row.input) };
      case 'flow':
        return { text: this.#shown(row.input), arguments: this.#shown(JSON.stringify(row.parameters)) };
      case 'left':
        return {
          output: this.#shown(JSON.stringify(row.output ?? null)),
          taken: this.#graph && takenIn(this.#graph, part ?? '', row.taken),
        };
      case 'failed':
        return { reason: this.#shown(row.reason) };
      case 'again':
        return { reason: this.#shown(row.reason), until: row.until };
      case 'waits':
        return { waitingFor: 'time', until: row.until };
      case 'parked':
        return { waitingFor: row.isForPeople ? 'approval' : 'time', until: row.until };
      case 'turn':
        return { turn: row.n };
      // They say all by what they are.
      case 'entered':
      case 'dropped':
      case 'retried':
      case 'said':
      case 'kept':
        return {};
      default:
        return this.#ofLaterVersion(row);
    }
  }

  #ofLaterVersion({ kind: _, ...members }: PlainRow): Members {
    return Object.keys(members).length === 0 ? {} : { text: this.#shown(JSON.stringify(members)) };
  }

  #call(part: string | undefined, id: string): Pick<ShownStep, 'call' | 'tool' | 'arguments'> {
    const call = this.#calls.get(callKey(part, id));
    // The name too: a model may write anything for one.
    return { call: id, tool: call && this.#shown(call.name), arguments: call && this.#shown(call.input) };
  }

  #shown(text: string): string {
    return this.#excerpt(text, SHOWN_TEXT);
  }
}

/** What a flow has said is of a node, though the flow has said it. */
const partIn = ({ kind, of }: PlainRow) => (kind === 'said' && typeof of === 'string' ? of : undefined);

export const callKey = (part: string | undefined, id: string): string => `${part ?? ''} ${id}`;
