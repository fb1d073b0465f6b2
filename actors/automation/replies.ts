// What goes back to where an event came from: the answer, and where a trigger says `on_failure: reply` a notice that there will
// be none, or not soon. All of it as rows of the outbox, whose ids do not change: each is said once.

import type { Trigger } from '../../config/resources/triggers/trigger.ts';
import type { AgentReply } from '../handlers/handler.ts';
import type { OutboundMessage } from '../outbound/outbound-message.ts';
import { outboxRows } from '../outbound/outbox-rows.ts';
import { replyCard } from '../outbound/reply-card.ts';
import { type Adapter, accountOf, type InboundEvent } from '../sources/adapter.ts';
import type { NewEvent, StoredEvent } from '../store/store.ts';

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

/** None where there is nothing to say, or nowhere to say it. Throws UnrenderableError. */
export function answerRows(
  taken: Taken,
  { text, data }: AgentReply,
  status: OutboundMessage['status'] = 'success',
): readonly NewEvent[] {
  const card = taken.adapter.outbound === undefined ? undefined : replyCard(data);
  return text.trim() === '' && card === undefined ? [] : rowsOf(taken, { text, card, status });
}

export function noticeRows(taken: Taken, notice: Notice): readonly NewEvent[] {
  if (taken.trigger.on_failure !== 'reply') return [];
  return rowsOf(taken, { text: TEXTS[notice], status: 'warning' }, notice);
}

function rowsOf(
  { adapter, trigger, event, inbound }: Taken,
  said: Pick<OutboundMessage, 'text' | 'card' | 'status'>,
  about?: Notice,
): readonly NewEvent[] {
  const { outbound } = adapter;
  const target = outbound?.target(trigger, inbound);
  if (outbound === undefined || target === undefined) return [];
  const message: OutboundMessage = { ...said, target, action: { do: 'post' }, mentions: trigger.mentions };
  const origin = { eventId: event.id, trace: event.trace, about };
  return outboxRows(outbound, accountOf(adapter, trigger), trigger, message, origin);
}
