// The history of a conversation: the last messages, as JSON text in the mailbox's snapshot. It is bounded, since every
// turn reads and writes all of it.

import type { HistoryMessage } from '../handlers/handler.ts';

const MAX_MESSAGES = 40;
/** Of all texts together, in UTF-16 units. */
const MAX_TEXT = 32_768;
const CUT = ' […]';

/** The messages of a snapshot; none when there is no snapshot, or one that an older version wrote otherwise. */
export function historyOf(snapshot: string | undefined): readonly HistoryMessage[] {
  if (snapshot === undefined) return [];
  try {
    const { history } = JSON.parse(snapshot) as { history?: unknown };
    return Array.isArray(history) ? history.filter(isMessage) : [];
  } catch {
    return [];
  }
}

/** The snapshot after one more turn: the newest messages that fit. */
export function remembered(history: readonly HistoryMessage[], input: string, answer: string): string {
  const all: HistoryMessage[] = [
    ...history,
    { role: 'user', text: shortened(input) },
    { role: 'assistant', text: shortened(answer) },
  ];
  let room = MAX_TEXT;
  let from = all.length;
  while (from > 0 && all.length - from < MAX_MESSAGES) {
    room -= all[from - 1]?.text.length ?? 0;
    if (room < 0) break;
    from -= 1;
  }
  return JSON.stringify({ history: all.slice(from) });
}

function shortened(text: string): string {
  const most = MAX_TEXT / 4;
  return text.length <= most ? text : text.slice(0, most - CUT.length) + CUT;
}

function isMessage(value: unknown): value is HistoryMessage {
  const { role, text } = (value ?? {}) as { role?: unknown; text?: unknown };
  return (role === 'user' || role === 'assistant') && typeof text === 'string';
}
