// What a model is told of a run, from its journal: what was said before it, and each answer with the results of its calls.
//
// MS1  every call of an answer has one result, in the order of the calls: no provider takes a history with a gap.

import type { JournalRow, ModelAnswerRow, ToolCall } from './journal.ts';

interface Message {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

interface MessageBounds {
  readonly messages: number;
  /** UTF-16 units of all texts. */
  readonly characters: number;
}

/** Returns the newest messages within the bounds. */
export function newest<T extends Pick<Message, 'text'>>(
  all: readonly T[],
  bounds: MessageBounds,
): readonly T[] {
  let room = bounds.characters;
  let from = all.length;
  while (from > 0 && all.length - from < bounds.messages) {
    room -= all[from - 1]?.text.length ?? 0;
    if (room < 0) break;
    from -= 1;
  }
  return all.slice(from);
}

/** Returns the newest messages, beginning with one of a person: an answer without its question is useless. */
export function remembered<T extends Message>(history: readonly T[], bounds: MessageBounds): readonly T[] {
  const all = newest(history, bounds);
  const first = all.findIndex(({ role }) => role !== 'assistant');
  return first === -1 ? [] : all.slice(first);
}

export type ModelMessage =
  | { readonly role: 'user'; readonly text: string }
  /** `raw` as in its row of the journal; undefined for one that another run has given. */
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly raw?: unknown;
    }
  /** Results of all calls of the answer before it, in the same order. */
  | { readonly role: 'tool'; readonly results: readonly ToolOutput[] };

export interface ToolOutput {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
}

type Row<K extends JournalRow['kind']> = Extract<JournalRow, { readonly kind: K }>;

/** Of rows in which no call is open. */
export function messagesOf(rows: readonly JournalRow[]): readonly ModelMessage[] {
  const results = new Map<string, Row<'result'>>();
  for (const row of rows) if (row.kind === 'result') results.set(row.id, row);
  return rows.flatMap((row): ModelMessage[] => {
    if (row.kind === 'begun')
      return row.messages.map(({ role, text }) =>
        role === 'user' ? { role, text } : { role, text, calls: [] },
      );
    if (row.kind === 'answer') return answered(row, results);
    if (row.kind === 'unfit') return [{ role: 'user', text: correction(row.reason) }];
    return [];
  });
}

function answered(
  { text, calls, raw }: ModelAnswerRow,
  results: ReadonlyMap<string, Row<'result'>>,
): ModelMessage[] {
  const answer = { role: 'assistant', text, calls, raw } as const;
  if (calls.length === 0) return [answer];
  const outputs = calls.map(({ id, name }) => {
    const { text: said = NO_RESULT, isError = true } = results.get(id) ?? {};
    return { id, name, text: said, isError };
  });
  return [answer, { role: 'tool', results: outputs }];
}

const NO_RESULT = 'there is no result';

const correction = (reason: string) =>
  `Your answer does not fit the schema that it has to fit: ${reason}. Answer again, with the JSON object and nothing else.`;
