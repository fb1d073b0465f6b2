// What goes back to where an event came from: the answer, or a notice that there will be none, or not soon. All of it as rows of
// the outbox, whose ids do not change: each is said once. Where there was a draft (draft.ts), each stands in its place; whether
// there is a message that can be edited is found out when the row is sent.
//
// Nothing of it leaves after the platform takes no answer (`answerBy`).
//
// Notices of what was taken, failed or has to wait go out where the trigger says `on_failure: reply`. Whoever sees that an
// answer is to come (`isAwaited`) hears in any case that there will be none, since the platform goes on saying otherwise.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { AgentReply } from '../../agents/handlers/handler.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { Notice } from '../../events/inbox/work.ts';
import type { OutboundAction, OutboundMessage } from '../../events/outbox/outbound-message.ts';
import { outboxRows, type RowOrigin, rowId } from '../../events/outbox/outbox-rows.ts';
import { replyCard } from '../../events/outbox/reply-card.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { wasTried } from '../works/attempts.ts';

/** Nothing of why: that is for the operator, and stands in the record. */
const TEXTS: Readonly<Record<Notice, string>> = {
  waits: 'This takes longer than usual. The answer will come here.',
  untaken: 'Sorry, there is nobody here who answers that.',
  refused: 'Sorry, that is not allowed here, or not for you.',
  stopped: 'This was stopped. There will be no answer.',
  late: 'Sorry, this took too long. It cannot be answered any more.',
  failed: 'Sorry, that did not work, and it will not be tried again.',
};

/** For the ids of rows: of the ways in which an event ends without an answer only one is told. */
const aboutOf = (notice: Notice) => (notice === 'waits' ? 'waits' : 'failed');

/** An event, and the trigger that has taken it or speaks of it. */
export interface Taken {
  readonly adapter: Adapter;
  readonly trigger: Trigger;
  readonly event: StoredEvent;
  readonly inbound: InboundEvent;
}

/** In place of an answer without words: a draft, or the platform, says that something is to come. */
const NOTHING_MORE = 'Done.';

const POST: OutboundAction = { do: 'post' };

/** Characters; more than the first message of any platform holds, which is all that a draft shows. */
const MAX_DRAFT = 100_000;

const draftOf = (text: string) => (text.length <= MAX_DRAFT ? text : text.trimStart().slice(0, MAX_DRAFT));

interface AnswerForm {
  /** @default 'success' */
  readonly status?: OutboundMessage['status'];
  /** There may be a draft. */
  readonly replacesDraft?: boolean;
  /** @default as the trigger has it */
  readonly mentions?: OutboundMessage['mentions'];
}

/** None where there is nothing to say, or nowhere to say it. Throws UnrenderableError. */
export function answerRows(
  taken: Taken,
  { text, data }: AgentReply,
  { status = 'success', replacesDraft = false, mentions }: AnswerForm = {},
): readonly NewEvent[] {
  const card = taken.adapter.outbound === undefined ? undefined : replyCard(data);
  if (text.trim() !== '' || card !== undefined)
    return rowsOf(taken, { text, card, status, mentions }, replacesDraft ? inPlace(taken) : POST);
  const { isAwaited = false } = taken.inbound;
  if (!replacesDraft) return isAwaited ? rowsOf(taken, { text: NOTHING_MORE, status }, POST) : [];
  return rowsOf(taken, { text: NOTHING_MORE, status }, inPlace(taken, isAwaited ? 'post' : 'nothing'));
}

/** Of a word of the gateway's own, which is no talk: what an outcome has of it. Throws UnrenderableError. */
export function said(taken: Taken, text: string, form: AnswerForm = {}) {
  return { trigger: taken.trigger.name, answer: text, emit: answerRows(taken, { text }, form) };
}

/**
 * The same for whoever pressed a button, alone, where the platform has a way to that; undefined where it has none. It waits for
 * nothing else that is said there. Throws UnrenderableError.
 */
export function saidToPress(
  taken: Taken,
  text: string,
  { status, orElse }: { readonly status: 'success' | 'warning'; readonly orElse: 'post' | 'nothing' },
) {
  const press = taken.adapter.outbound?.pressOf?.(taken.inbound);
  if (press === undefined) return undefined;
  const emit = rowsOf(taken, { text, status, mentions: 'none' }, { do: 'tell', press, orElse });
  return { trigger: taken.trigger.name, answer: text, emit };
}

/** A word beside the answer that is still to come, once for each `about`. Throws UnrenderableError. */
export function asideRows(taken: Taken, text: string, about: string): readonly NewEvent[] {
  return rowsOf(taken, { text, status: 'warning', mentions: 'none' }, POST, { about });
}

/** None where nobody is to be told and there is no draft that would stay, or nowhere to say it. Throws UnrenderableError. */
export function noticeRows(taken: Taken, notice: Notice): readonly NewEvent[] {
  const words = { text: TEXTS[notice], status: 'warning' } as const;
  const about = aboutOf(notice);
  const isTold = isToldOf(taken, notice);
  if (!mayHaveDraft(taken)) return isTold ? rowsOf(taken, words, POST, { about }) : [];
  // Who is to hear nothing is not left with a draft all the same.
  if (!isTold && !isFailure(notice)) return [];
  return rowsOf(taken, words, inPlace(taken, isTold ? 'post' : 'nothing'), { about });
}

function isToldOf({ trigger, inbound }: Taken, notice: Notice): boolean {
  if (inbound.isAwaited === true && notice !== 'waits') return true;
  return trigger.on_failure === 'reply' && (notice === 'waits' || isFailure(notice));
}

const isFailure = (notice: Notice) => notice === 'failed' || notice === 'late';

/** The first text of an answer under way; undefined where there is nowhere to show it. Throws UnrenderableError. */
export function draftRow(taken: Taken, text: string): NewEvent | undefined {
  const replacedBy = lastWordIds(taken.event.id);
  return rowsOf(taken, { text: draftOf(text) }, POST, { about: 'draft', replacedBy })[0];
}

/** A later text: its row is not for the store, but says what is to be sent. */
export function draftEdit(taken: Taken, text: string): NewEvent | undefined {
  return rowsOf(taken, { text: draftOf(text) }, inPlace(taken, 'nothing'))[0];
}

export const draftRowId = (eventId: string): string => rowId(eventId, 'draft', 1);

/** Rows that a draft is not shown after. */
export const lastWordIds = (eventId: string): readonly string[] => [
  rowId(eventId, undefined, 1),
  rowId(eventId, aboutOf('failed'), 1),
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
  words: Pick<OutboundMessage, 'text' | 'card' | 'status' | 'mentions'>,
  action: OutboundAction,
  more: Pick<RowOrigin, 'about' | 'replacedBy'> = {},
): readonly NewEvent[] {
  const { outbound } = adapter;
  const place = outbound?.target(trigger, inbound);
  if (outbound === undefined || place === undefined) return [];
  const target = action.do === 'tell' ? { ...place, orderedWith: `${place.place}/${action.press}` } : place;
  const mentions = words.mentions ?? trigger.mentions;
  const message: OutboundMessage = { ...words, target, action, mentions, expiresAt: inbound.answerBy };
  const origin = { eventId: event.id, trace: event.trace, ...more };
  return outboxRows(outbound, accountOf(adapter, trigger), trigger, message, origin);
}
