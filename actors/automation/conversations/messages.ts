// Messages to the event's origin: the answer, or a notice that the answer is missing or delayed. They are
// outbox rows with fixed ids, so each is sent once. They replace the draft (draft.ts), if the platform can
// edit it at the time of sending. Nothing is sent after the platform's reply deadline (`answerBy`). Notices
// about failures and delays need `on_failure: reply`. If the platform shows a pending answer (`isAwaited`),
// the sender is always notified about a missing answer.

import type { TextFormat } from '../../../config/resources/agents/text-format.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { AgentReply } from '../../agents/handlers/handler.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { Notice } from '../../events/inbox/work.ts';
import type { OutboundAction, OutboundMessage } from '../../events/outbox/message.ts';
import { replyCard, replyFormat } from '../../events/outbox/reply-card.ts';
import { outboxRows, type RowOrigin, rowId } from '../../events/outbox/rows.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { wasTried } from '../works/attempts.ts';

/** Texts of the notices. They contain no reasons, which are for operators and in the delivery record. */
const TEXTS: Readonly<Record<Notice, string>> = {
  waits: 'This takes longer than usual. The answer will appear here.',
  unmatched: 'Sorry, nothing here can answer that.',
  refused: 'Sorry, that is not allowed here, or not for you.',
  stopped: 'This was stopped. There will be no answer.',
  late: 'Sorry, this took too long and can no longer be answered.',
  failed: 'Sorry, that failed and will not be retried.',
};

/** Answer to textless messages. */
export const WORDLESS_REPLY = 'Sorry, that contains no text, and only text can be answered here.';

/** Returns a part of the row id. All final notices have the same part, so only one of them is sent. */
const aboutOf = (notice: Notice) => (notice === 'waits' ? 'waits' : 'failed');

/** An event with the trigger that accepted it or sends its notices. */
export interface RoutedEvent {
  readonly adapter: Adapter;
  readonly trigger: Trigger;
  readonly event: StoredEvent;
  readonly inbound: InboundEvent;
  /** Form of the handler's texts; undefined for texts of the gateway itself. */
  readonly format?: TextFormat | undefined;
}

/** Text instead of an empty answer, if a draft or the platform has announced an answer. */
const EMPTY_ANSWER = 'Done.';

const POST: OutboundAction = { do: 'post' };

/** Maximum draft length, in characters: more than any platform shows in one message. */
const MAX_DRAFT = 100_000;

const previewOf = ({ format }: Pick<RoutedEvent, 'format'>, text: string) => ({
  text: text.length <= MAX_DRAFT ? text : text.trimStart().slice(0, MAX_DRAFT),
  format,
  isPreview: true,
});

interface AnswerForm {
  /** @default 'success' */
  readonly status?: OutboundMessage['status'];
  /** True if a draft may exist. The message then edits the draft. */
  readonly replacesDraft?: boolean;
  /** @default setting of the trigger */
  readonly mentions?: OutboundMessage['mentions'];
}

/**
 * Returns an answer's rows; [] if the text is empty or the origin unreachable. Throws UnrenderableError.
 */
export function answerRows(
  routedEvent: RoutedEvent,
  { text, data }: AgentReply,
  { status = 'success', replacesDraft = false, mentions }: AnswerForm = {},
): readonly NewEvent[] {
  const card = routedEvent.adapter.outbound === undefined ? undefined : replyCard(data);
  const format = replyFormat(data) ?? routedEvent.format;
  if (text.trim() !== '' || card !== undefined)
    return rowsOf(
      routedEvent,
      { text, format, card, status, mentions },
      replacesDraft ? editOfDraft(routedEvent) : POST,
    );
  // The answer is empty. It needs a text only if the platform shows a pending answer or a draft may exist.
  const { isAwaited = false } = routedEvent.inbound;
  if (!replacesDraft) return isAwaited ? rowsOf(routedEvent, { text: EMPTY_ANSWER, status }, POST) : [];
  return rowsOf(
    routedEvent,
    { text: EMPTY_ANSWER, status },
    editOfDraft(routedEvent, isAwaited ? 'post' : 'nothing'),
  );
}

/**
 * Returns outcome fields for a text from the gateway itself instead of an agent. The text is not added to the
 * history. Throws UnrenderableError.
 */
export function messageOutcome(routedEvent: RoutedEvent, text: string, form: AnswerForm = {}) {
  return { trigger: routedEvent.trigger.name, answer: text, emit: answerRows(routedEvent, { text }, form) };
}

/**
 * Returns outcome fields for a private response to a button press, sent immediately; undefined if the
 * platform lacks private responses. Throws UnrenderableError.
 */
export function pressOutcome(
  routedEvent: RoutedEvent,
  text: string,
  { status, orElse }: { readonly status: 'success' | 'warning'; readonly orElse: 'post' | 'nothing' },
) {
  const press = routedEvent.adapter.outbound?.pressOf?.(routedEvent.inbound);
  if (press === undefined) return undefined;
  const emit = rowsOf(routedEvent, { text, status, mentions: 'none' }, { do: 'tell', press, orElse });
  return { trigger: routedEvent.trigger.name, answer: text, emit };
}

/** Returns message rows preceding the answer, sent once per `about`. Throws UnrenderableError. */
export function asideRows(routedEvent: RoutedEvent, text: string, about: string): readonly NewEvent[] {
  return rowsOf(routedEvent, { text, status: 'warning', mentions: 'none' }, POST, { about });
}

/**
 * Returns a notice's rows; [] if the sender gets no notice and no draft must be replaced. Throws
 * UnrenderableError.
 */
export function noticeRows(routedEvent: RoutedEvent, notice: Notice): readonly NewEvent[] {
  const content = { text: TEXTS[notice], status: 'warning' } as const;
  const about = aboutOf(notice);
  const isNotified = needsNotice(routedEvent, notice);
  if (!mayHaveDraft(routedEvent)) return isNotified ? rowsOf(routedEvent, content, POST, { about }) : [];
  // Drafts of failed events are replaced in any case. But if the draft does not exist, a sender without
  // notices gets no new message.
  if (!isNotified && !isFailure(notice)) return [];
  return rowsOf(routedEvent, content, editOfDraft(routedEvent, isNotified ? 'post' : 'nothing'), { about });
}

function needsNotice({ trigger, inbound }: RoutedEvent, notice: Notice): boolean {
  if (inbound.isAwaited === true && notice !== 'waits') return true;
  return trigger.on_failure === 'reply' && (notice === 'waits' || isFailure(notice));
}

const isFailure = (notice: Notice) => notice === 'failed' || notice === 'late';

/** Returns the row of the first draft; undefined for unreachable origins. Throws UnrenderableError. */
export function draftRow(routedEvent: RoutedEvent, text: string): NewEvent | undefined {
  const replacedBy = finalRowIds(routedEvent.event.id);
  return rowsOf(routedEvent, previewOf(routedEvent, text), POST, { about: 'draft', replacedBy })[0];
}

/** Returns an edit of the draft; the row is sent directly and not stored. */
export function draftEdit(routedEvent: RoutedEvent, text: string): NewEvent | undefined {
  return rowsOf(routedEvent, previewOf(routedEvent, text), editOfDraft(routedEvent, 'nothing'))[0];
}

export const draftRowId = (eventId: string): string => rowId(eventId, 'draft', 1);

/** Returns the ids of the rows that replace a draft. */
export const finalRowIds = (eventId: string): readonly string[] => [
  rowId(eventId, undefined, 1),
  rowId(eventId, aboutOf('failed'), 1),
];

/** Returns true if an earlier attempt possibly sent a draft. */
export function mayHaveDraft({ adapter, event }: Pick<RoutedEvent, 'adapter' | 'event'>): boolean {
  return adapter.outbound?.editIntervalMs !== undefined && wasTried(event);
}

function editOfDraft({ event }: RoutedEvent, orElse: 'post' | 'nothing' = 'post'): OutboundAction {
  return { do: 'edit', of: draftRowId(event.id), orElse };
}

function rowsOf(
  { adapter, trigger, event, inbound }: RoutedEvent,
  content: Pick<OutboundMessage, 'text' | 'format' | 'card' | 'status' | 'mentions' | 'isPreview'>,
  action: OutboundAction,
  more: Pick<RowOrigin, 'about' | 'replacedBy'> = {},
): readonly NewEvent[] {
  const { outbound } = adapter;
  const origin = outbound?.target(trigger, inbound);
  if (outbound === undefined || origin === undefined) return [];
  // A private response has a separate order, so it does not wait for the messages of the conversation.
  const target =
    action.do === 'tell' ? { ...origin, orderedWith: `${origin.place}/${action.press}` } : origin;
  const mentions = content.mentions ?? trigger.mentions;
  const message: OutboundMessage = { ...content, target, action, mentions, expiresAt: inbound.answerBy };
  const rowOrigin = { eventId: event.id, trace: event.trace, ...more };
  return outboxRows(outbound, accountOf(adapter, trigger), trigger, message, rowOrigin);
}
