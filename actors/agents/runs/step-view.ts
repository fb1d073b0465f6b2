// Views of run steps: each journal row with related data, such as tool and arguments. Texts are bounded and
// redacted.

import type { JournalRow, ToolCall } from '../../../machines/agent-run/journal.ts';
import type { FlowRow } from '../../../machines/flow-run/rows.ts';
import type { Step } from '../../store/run.ts';
import { type DefinedGraph, parseFlowDefinition, takenTargets } from './flow-definition.ts';
import type { StepView } from './step-shape.ts';

/** A journal row with unknown members, possibly written by a later version. */
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

/** Returns the definition from the first row; otherwise undefined. */
export function definitionIn({
  kind,
  in: at,
  definition,
}: PlainRow): { readonly kind: 'flow' | 'fleet'; readonly definition: string } | undefined {
  if ((kind !== 'flow' && kind !== 'fleet') || at !== undefined || typeof definition !== 'string')
    return undefined;
  return { kind, definition };
}

/** Limit per text, in UTF-16 units. */
export const MAX_STEP_TEXT = 2_000;

type StepMembers = Omit<StepView, 'n' | 'at' | 'kind' | 'part'>;

/** Row about a part of the run (flow node or fleet member). */
type PartJournalRow =
  | FlowRow
  | { readonly kind: 'dropped' | 'kept' }
  | {
      readonly kind: 'parked';
      readonly isForPeople: boolean;
      readonly isForSlot?: boolean | undefined;
      readonly until?: number | undefined;
    }
  | { readonly kind: 'said'; readonly of: string }
  | { readonly kind: 'fleet'; readonly input: string }
  | {
      readonly kind: 'flow';
      readonly input: string;
      readonly parameters: Readonly<Record<string, string>>;
    };

type ViewedRow = JournalRow | PartJournalRow;

/** Parses a row of an agent's journal; undefined for invalid rows. */
export function rowOf({ text }: Pick<Step, 'text'>): JournalRow | undefined {
  const row = plainRow(text);
  return typeof row.kind === 'string' ? (row as unknown as JournalRow) : undefined;
}

/** Redacts a text and truncates it to `maxChars`. */
export type Excerpt = (text: string, maxChars: number) => string;

/** Converts a journal's rows, in order: rows about calls contain only an earlier call's id. */
export class StepViews {
  readonly #excerpt: Excerpt;
  /** Calls by part and id, because agents in one run use equal call ids. */
  readonly #calls = new Map<string, ToolCall>();
  /** Graph of the flow; undefined for other runs. */
  #graph: DefinedGraph | undefined;

  constructor(excerpt: Excerpt) {
    this.#excerpt = excerpt;
  }

  next({ n, at, text }: Step): StepView {
    const whole = plainRow(text);
    const { in: path, ...row } = whole;
    if (typeof row.kind !== 'string') return { n, at, kind: 'unknown', text: this.#excerptOf(text) };
    const { kind, definition } = definitionIn(whole) ?? {};
    if (kind === 'flow' && definition !== undefined) this.#graph = parseFlowDefinition(definition);
    const within = typeof path === 'string' ? path : partIn(row);
    const part = within === undefined ? {} : { part: this.#excerptOf(within) };
    return { n, at, kind: row.kind, ...part, ...this.#members(row as unknown as ViewedRow, within) };
  }

  #members(row: ViewedRow, part: string | undefined): StepMembers {
    switch (row.kind) {
      case 'begun':
        return { text: this.#excerptOf(row.messages.at(-1)?.text ?? '') };
      case 'answer': {
        for (const call of row.calls) this.#calls.set(callKey(part, call.id), call);
        const { iteration, model, cost, tookMs, finish } = row;
        const text = this.#excerptOf(row.text);
        const cut = finish === 'length' || finish === 'filtered' ? finish : undefined;
        const omitted = row.omitted?.map(({ tool, reason }) => this.#excerptOf(`${tool}: ${reason}`));
        return { iteration, model, text, tokens: row.usage, cost, tookMs, cut, omitted };
      }
      case 'unfit':
        return { iteration: row.iteration, text: this.#excerptOf(row.reason) };
      case 'called':
        return this.#call(part, row.id);
      case 'result': {
        const state = row.how === 'called' ? (row.isError ? 'failed' : 'done') : row.how;
        return { ...this.#call(part, row.id), state, result: this.#excerptOf(row.text), tookMs: row.tookMs };
      }
      case 'asked':
        return { approval: row.approval, ...(row.call === undefined ? {} : this.#call(part, row.call)) };
      case 'decided': {
        const { approval, state, by, comment } = row;
        return { approval, state, by, text: comment === undefined ? undefined : this.#excerptOf(comment) };
      }
      case 'ended':
        return { text: this.#excerptOf(row.text), cut: row.cut };
      case 'fleet':
        return { text: this.#excerptOf(row.input) };
      case 'flow':
        return {
          text: this.#excerptOf(row.input),
          arguments: this.#excerptOf(JSON.stringify(row.parameters)),
        };
      case 'left':
        return {
          output: this.#excerptOf(JSON.stringify(row.output ?? null)),
          taken: this.#graph && takenTargets(this.#graph, part ?? '', row.taken),
        };
      case 'failed':
        return { reason: this.#excerptOf(row.reason) };
      case 'again':
        return { reason: this.#excerptOf(row.reason), until: row.until };
      case 'waits':
        return { waitingFor: 'time', until: row.until };
      case 'parked':
        return { waitingFor: awaitedBy(row), until: row.until };
      case 'turn':
        return { turn: row.n };
      // These rows have no members to show.
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

  #ofLaterVersion({ kind: _, ...members }: PlainRow): StepMembers {
    return Object.keys(members).length === 0 ? {} : { text: this.#excerptOf(JSON.stringify(members)) };
  }

  #call(part: string | undefined, id: string): Pick<StepView, 'call' | 'tool' | 'arguments'> {
    const call = this.#calls.get(callKey(part, id));
    // The name is also redacted: a model may write any text as a name.
    return {
      call: id,
      tool: call && this.#excerptOf(call.name),
      arguments: call && this.#excerptOf(call.input),
    };
  }

  #excerptOf(text: string): string {
    return this.#excerpt(text, MAX_STEP_TEXT);
  }
}

function awaitedBy({
  isForPeople,
  isForSlot,
}: Extract<PartJournalRow, { readonly kind: 'parked' }>): StepView['waitingFor'] {
  if (isForPeople) return 'approval';
  return isForSlot === true ? 'slot' : 'time';
}

/** Returns the node in a `said` row, which the flow writes when it sends a Response. */
const partIn = ({ kind, of }: PlainRow) => (kind === 'said' && typeof of === 'string' ? of : undefined);

export const callKey = (part: string | undefined, id: string): string => `${part ?? ''} ${id}`;
