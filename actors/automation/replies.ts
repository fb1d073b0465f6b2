// What goes back to where an event came from: the answer, and where a trigger says `on_failure: reply` a notice that there will
// be none, or not soon. All of it as rows of the outbox, whose ids do not change: each is said once. Where there was a draft
// (draft.ts), each stands in its place; whether there is a message that can be edited is found out when the row is sent.

import type { Trigger } from '../../config/resources/triggers/trigger.ts';
import type { AgentReply } from '../handlers/handler.ts';
import type { OutboundAction, OutboundMessage } from '../outbound/outbound-message.ts';
import { outboxRows, type RowOrigin, rowId } from '../outbound/outbox-rows.ts';
import { replyCard } from '../outbound/reply-card.ts';
import { type Adapter, accountOf, type InboundEvent } from '../sources/adapter.ts';
import type { NewEvent, StoredEvent } from '../store/store.ts';
import { wasTried } from './attempts.ts';

/** What a notice may be about. */
export type Notice = 'failed' | 'waits';

/** Nothing of why: that is for the operator, and stands in the record. */
const TEXTS: Readonly<Record<Notice, string>> = {
  failed: 'Sorry, that did not work, and it will not be tried again.',
  waits: 'This takes longer than usual. The answer will come here.',
};

/** An event that some trigger has taken. */
export interface Taken {
  readonly adapter: Adapter;
  readonly trigger: Trigger;
  readonly event: StoredEvent;
  readonly inbound: InboundEvent;
}

/** In place of an answer without words: a draft says that something is to come. */
const NOTHING_MORE = 'Done.';

const POST: OutboundAction = { do: 'post' };

export interface AnswerForm {
  /** @default 'success' */
  readonly status?: OutboundMessage['status'];
  /** There may be a draft. */
  readonly replacesDraft?: boolean;
}

/** None where there is nothing to say, or nowhere to say it. Throws UnrenderableError. */
export function answerRows(
  taken: Taken,
  { text, data }: AgentReply,
  { status = 'success', replacesDraft = false }: AnswerForm = {},
): readonly NewEvent[] {
  const card = taken.adapter.outbound === undefined ? undefined : replyCard(data);
  if (text.trim() !== '' || card !== undefined)
    return rowsOf(taken, { text, card, status }, replacesDraft ? inPlace(taken) : POST);
  return replacesDraft ? rowsOf(taken, { text: NOTHING_MORE, status }, inPlace(taken, 'nothing')) : [];
}

/** None where the trigger tells nothing and there is no draft that would stay, or nowhere to say it. Throws UnrenderableError. */
export function noticeRows(taken: Taken, notice: Notice): readonly NewEvent[] {
  const said = { text: TEXTS[notice], status: 'warning' } as const;
  const isTold = taken.trigger.on_failure === 'reply';
  if (!mayHaveDraft(taken)) return isTold ? rowsOf(taken, said, POST, { about: notice }) : [];
  // Who is to hear nothing is not left with a draft all the same.
  if (!isTold && notice !== 'failed') return [];
  return rowsOf(taken, said, inPlace(taken, isTold ? 'post' : 'nothing'), { about: notice });
}

/** The first text of an answer under way; undefined where there is nowhere to show it. Throws UnrenderableError. */
export function draftRow(taken: Taken, text: string): NewEvent | undefined {
  const replacedBy = lastWordIds(taken.event.id);
  return rowsOf(taken, { text }, POST, { about: 'draft', replacedBy })[0];
}

/** A later text: its row is not for the store, but says what is to be sent. */
export function draftEdit(taken: Taken, text: string): NewEvent | undefined {
  return rowsOf(taken, { text }, inPlace(taken, 'nothing'))[0];
}

export const draftRowId = (eventId: string): string => rowId(eventId, 'draft', 1);

/** Rows that a draft is not shown after. */
export const lastWordIds = (eventId: string): readonly string[] => [
  rowId(eventId, undefined, 1),
  rowId(eventId, 'failed' satisfies Notice, 1),
];

/** By what is known of the event alone; an attempt at its beginning knows better. */
export function mayHaveDraft({ adapter, event }: Pick<Taken, 'adapter' | 'event'>): boolean {
  return adapter.outbound?.editsEveryMs !== undefined && wasTried(event);
}

function inPlace({ event }: Taken, orElse: 'post' | 'nothing' = 'post'): OutboundAction {
  return { do: 'edit', of: draftRowId(event.id), orElse };
}

function rowsOf(
  { adapter, trigger, event, inbound }: Taken,
  said: Pick<OutboundMessage, 'text' | 'card' | 'status'>,
  action: OutboundAction,
  more: Pick<RowOrigin, 'about' | 'replacedBy'> = {},
): readonly NewEvent[] {
  const { outbound } = adapter;
  const target = outbound?.target(trigger, inbound);
  if (outbound === undefined || target === undefined) return [];
  const message: OutboundMessage = { ...said, target, action, mentions: trigger.mentions };
  const origin = { eventId: event.id, trace: event.trace, ...more };
  return outboxRows(outbound, accountOf(adapter, trigger), trigger, message, origin);
}
