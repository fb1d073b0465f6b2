// Builds the model messages from the run journal: the previous conversation, then each response with the
// results of its calls. Every call has one result, in the order of the calls, because providers reject
// histories with gaps. Only the newest images are included: each costs tokens in every request.

import type { JournalRow, ModelAnswerRow, ResultImage, ToolCall } from './journal.ts';

export interface ChatMessage {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

interface MessageBounds {
  readonly messages: number;
  /** UTF-16 units of all texts. */
  readonly characters: number;
}

/** Returns the newest messages within the bounds. `lengthOf` is by default the length of the text. */
export function newest<T extends Pick<ChatMessage, 'text'>>(
  all: readonly T[],
  bounds: MessageBounds,
  lengthOf: (message: T) => number = ({ text }) => text.length,
): readonly T[] {
  let remainingChars = bounds.characters;
  let from = all.length;
  while (from > 0 && all.length - from < bounds.messages) {
    const message = all[from - 1];
    remainingChars -= message === undefined ? 0 : lengthOf(message);
    if (remainingChars < 0) break;
    from -= 1;
  }
  return all.slice(from);
}

/** Returns the newest messages from the first user message on: a response without its question is useless. */
export function recentConversation<T extends ChatMessage>(
  history: readonly T[],
  bounds: MessageBounds,
): readonly T[] {
  const all = newest(history, bounds);
  const first = all.findIndex(({ role }) => role !== 'assistant');
  return first === -1 ? [] : all.slice(first);
}

export type ModelMessage =
  | { readonly role: 'user'; readonly text: string }
  /** `raw` is the provider-specific form of the response; undefined for a response of another run. */
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly raw?: unknown;
    }
  /** Results of all calls of the previous response, in the same order. */
  | { readonly role: 'tool'; readonly results: readonly ToolOutput[] };

export interface ToolOutput {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
  readonly images?: readonly ResultImage[];
}

type RowOf<K extends JournalRow['kind']> = Extract<JournalRow, { readonly kind: K }>;

/** Converts the rows to messages. A call that has no result, which is rare, gets a placeholder. */
export function messagesOf(rows: readonly JournalRow[]): readonly ModelMessage[] {
  const results = new Map<string, RowOf<'result'>>();
  for (const row of rows) if (row.kind === 'result') results.set(row.id, row);
  const ofImages = [...results.values()].filter(({ images = [] }) => images.length > 0);
  for (const row of ofImages.slice(0, -MAX_RESULTS_WITH_IMAGES)) results.set(row.id, { ...row, images: [] });
  return rows.flatMap((row): ModelMessage[] => {
    if (row.kind === 'begun')
      return row.messages.map(({ role, text }) =>
        role === 'user' ? { role, text } : { role, text, calls: [] },
      );
    if (row.kind === 'answer') return answerMessages(row, results);
    if (row.kind !== 'unfit') return [];
    if (row.isEmpty !== true) return [{ role: 'user', text: correction(row.reason) }];
    // Some providers reject a user message after tool results.
    return [
      { role: 'assistant', text: NO_ANSWER, calls: [] },
      { role: 'user', text: EMPTY_CORRECTION },
    ];
  });
}

function answerMessages(
  { text, calls, raw }: ModelAnswerRow,
  results: ReadonlyMap<string, RowOf<'result'>>,
): ModelMessage[] {
  const answer = { role: 'assistant', text, calls, raw } as const;
  if (calls.length === 0) return [answer];
  const outputs = calls.map(({ id, name }) => {
    const { text: outputText = NO_RESULT, isError = true, images = [] } = results.get(id) ?? {};
    return { id, name, text: outputText, isError, ...(images.length === 0 ? {} : { images }) };
  });
  return [answer, { role: 'tool', results: outputs }];
}

const NO_RESULT = 'no result';
const NO_ANSWER = '(no answer)';
const EMPTY_CORRECTION = 'Your answer was empty. Answer the last request, with text.';
const MAX_RESULTS_WITH_IMAGES = 8;

const correction = (reason: string) =>
  `Your answer does not match the required schema: ${reason}. Answer again, with the JSON object and nothing else.`;
