// The question to people, and its outcome, as rows of the outbox: each leaves once, in order, and only when what it says is durable.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type {
  OutboundAction,
  OutboundMessage,
  OutboundTarget,
} from '../../events/outbox/outbound-message.ts';
import { outboxRows } from '../../events/outbox/outbox-rows.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import type { NewEvent } from '../../store/event.ts';
import { EXCERPTS, outcomeMessage, questionMessage, type ShownOutcome } from './approval-message.ts';
import type { ApprovalBody, Question } from './approval-record.ts';

/** Where people are asked, and in whose name. */
export interface AskedAt {
  readonly adapter: Adapter;
  readonly trigger: Trigger;
  readonly target: OutboundTarget;
}

type Asked = Omit<ApprovalBody, 'question'>;

/** With the ids of its rows: those of one approval are no other's. */
interface Origin {
  readonly id: string;
  readonly run: string;
}

/** Throws UnrenderableError. */
export function questionRows(
  at: AskedAt,
  origin: Origin,
  asked: Asked,
  expiresInMs: number | undefined,
): { readonly rows: readonly NewEvent[]; readonly question: Question | undefined } {
  const { trigger, target } = at;
  let last: { readonly rows: readonly NewEvent[]; readonly shown: number } = { rows: [], shown: 0 };
  // What was sent as one message is changed as one.
  for (const shown of EXCERPTS) {
    const words = questionMessage(origin.id, asked, shown, expiresInMs);
    last = { rows: rowsOf(at, origin, asked.trace, words, { do: 'post' }, 'asked'), shown };
    if (last.rows.length <= 1) break;
  }
  const [row] = last.rows;
  const question = row && { row: row.id, trigger: trigger.name, target, shown: last.shown };
  return { rows: last.rows, question };
}

/** In the place of the question, or below it where the platform changes no messages. Throws UnrenderableError. */
export function outcomeRows(
  at: AskedAt,
  origin: Origin,
  asked: Asked,
  question: Question,
  outcome: ShownOutcome,
): readonly NewEvent[] {
  const words = outcomeMessage(origin.id, asked, question.shown, outcome);
  const about = outcome.undone === undefined ? outcome.state : 'undone';
  try {
    return rowsOf(at, origin, asked.trace, words, { do: 'edit', of: question.row }, about);
  } catch (error) {
    if (!(error instanceof UnrenderableError)) throw error;
    return rowsOf(at, origin, asked.trace, words, { do: 'post' }, about);
  }
}

/** Of a row that asks, or tells the outcome; undefined for any other. */
export function approvalOfRow(rowId: string): string | undefined {
  return /^outbox:.*\/approval\/([0-9a-f-]{36})\/[a-z]+\/\d+$/s.exec(rowId)?.[1];
}

function rowsOf(
  { adapter, trigger, target }: AskedAt,
  { id, run }: Origin,
  trace: string,
  words: Omit<OutboundMessage, 'target' | 'action'>,
  action: OutboundAction,
  about: string,
): readonly NewEvent[] {
  const { outbound } = adapter;
  if (outbound === undefined) return [];
  // Of several questions, and of an answer behind them, none takes the place of another.
  const message: OutboundMessage = { ...words, target, action, isApart: true };
  const origin = { eventId: run, trace, about: `approval/${id}/${about}` };
  return outboxRows(outbound, accountOf(adapter, trigger), trigger, message, origin);
}
