// Outbox rows of approval requests and outcomes. Each row is sent once, in order, and only when durable.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { OutboundAction, OutboundMessage, OutboundTarget } from '../../events/outbox/message.ts';
import { outboxRows } from '../../events/outbox/rows.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import type { NewEvent } from '../../store/event.ts';
import { type DecisionOutcome, EXCERPTS, outcomeMessage, requestMessage } from './message.ts';
import type { ApprovalBody, ApprovalMessage } from './record.ts';

/** Message target, and the trigger that sends it. */
export interface MessagePlace {
  readonly adapter: Adapter;
  readonly trigger: Trigger;
  readonly target: OutboundTarget;
}

type RequestBody = Omit<ApprovalBody, 'question'>;

/** Approval and run of the rows, used in their ids. */
interface ApprovalRowOrigin {
  readonly id: string;
  readonly run: string;
}

/** Returns the rows that send the request, and their description for the record. Throws UnrenderableError. */
export function requestRows(
  at: MessagePlace,
  origin: ApprovalRowOrigin,
  request: RequestBody,
  expiresInMs: number | undefined,
): { readonly rows: readonly NewEvent[]; readonly question: ApprovalMessage | undefined } {
  const { trigger, target } = at;
  let last: { readonly rows: readonly NewEvent[]; readonly maxChars: number } = { rows: [], maxChars: 0 };
  // A single message can be edited later, so a text that fits into one is preferred.
  for (const maxChars of EXCERPTS) {
    const content = requestMessage(origin.id, request, maxChars, expiresInMs);
    last = { rows: rowsOf(at, origin, request.trace, content, { do: 'post' }, 'asked'), maxChars };
    if (last.rows.length <= 1) break;
  }
  const [row] = last.rows;
  const question = row && { row: row.id, trigger: trigger.name, target, shown: last.maxChars };
  return { rows: last.rows, question };
}

/**
 * Returns rows that replace the request message, or follow it if the platform cannot edit messages. Throws
 * UnrenderableError.
 */
export function outcomeRows(
  at: MessagePlace,
  origin: ApprovalRowOrigin,
  request: RequestBody,
  question: ApprovalMessage,
  outcome: DecisionOutcome,
): readonly NewEvent[] {
  const content = outcomeMessage(origin.id, request, question.shown, outcome);
  const about = outcome.undone === undefined ? outcome.state : 'undone';
  try {
    return rowsOf(at, origin, request.trace, content, { do: 'edit', of: question.row }, about);
  } catch (error) {
    if (!(error instanceof UnrenderableError)) throw error;
    return rowsOf(at, origin, request.trace, content, { do: 'post' }, about);
  }
}

/** Returns the approval in an outbox row; undefined for other rows. */
export function approvalOfRow(rowId: string): string | undefined {
  return /^outbox:.*\/approval\/([0-9a-f-]{36})\/[a-z]+\/\d+$/s.exec(rowId)?.[1];
}

function rowsOf(
  { adapter, trigger, target }: MessagePlace,
  { id, run }: ApprovalRowOrigin,
  trace: string,
  content: Omit<OutboundMessage, 'target' | 'action'>,
  action: OutboundAction,
  about: string,
): readonly NewEvent[] {
  const { outbound } = adapter;
  if (outbound === undefined) return [];
  // A side message, because several requests and the answer must not replace each other.
  const message: OutboundMessage = { ...content, target, action, isSideMessage: true };
  const origin = { eventId: run, trace, about: `approval/${id}/${about}` };
  return outboxRows(outbound, accountOf(adapter, trigger), trigger, message, origin);
}
