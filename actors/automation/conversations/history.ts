// The history of a conversation: the last messages, as JSON text in the mailbox's snapshot. It is bounded, since every
// turn reads and writes all of it.

import { KEPT_CHARACTERS, KEPT_MESSAGES } from '../../../config/resources/agents/kept-history.ts';
import type { AgentReply, HistoryMessage, Job } from '../../agents/handlers/handler.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';

const CUT = ' […]';
/** Of an event without words: what it was about, not all that came with it. */
const MAX_WORDLESS = 500;

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

/** What is to be remembered of an answered event; undefined leaves it as it was: what was not answered was no talk. */
export function snapshotAfter(
  inbound: InboundEvent,
  { history, input }: Job,
  { text }: AgentReply,
): string | undefined {
  if (text === '') return undefined;
  return remembered(history, inbound.text ?? input.slice(0, MAX_WORDLESS), text);
}

/** The snapshot after one more turn: the newest messages that fit. */
function remembered(history: readonly HistoryMessage[], input: string, answer: string): string {
  const all: HistoryMessage[] = [
    ...history,
    { role: 'user', text: shortened(input) },
    { role: 'assistant', text: shortened(answer) },
  ];
  let room = KEPT_CHARACTERS;
  let from = all.length;
  while (from > 0 && all.length - from < KEPT_MESSAGES) {
    room -= all[from - 1]?.text.length ?? 0;
    if (room < 0) break;
    from -= 1;
  }
  return JSON.stringify({ history: all.slice(from) });
}

function shortened(text: string): string {
  const most = KEPT_CHARACTERS / 4;
  return text.length <= most ? text : text.slice(0, most - CUT.length) + CUT;
}

function isMessage(value: unknown): value is HistoryMessage {
  const { role, text } = (value ?? {}) as { role?: unknown; text?: unknown };
  return (role === 'user' || role === 'assistant') && typeof text === 'string';
}
