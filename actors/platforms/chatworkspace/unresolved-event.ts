// Resolves events that arrived before the bots were identified. Without the identities it is unknown whether
// a bot of the app sent the event, and which bot it is for.
//
// The identities are requested when the event is handled, before the filters apply. A person's message to the
// only bot is handled after one request, successful or not. Events that depend on an identity wait up to five
// minutes, and are then ignored with a note. They keep their position in the conversation.

import type { InboundEvent } from '../../events/inbound-event.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { isOurs, isUndecided, usersOf } from './app-bots.ts';
import type { WorkspaceBot } from './bot.ts';
import { contentOf, withBots } from './event.ts';

/** Interval between attempts while an identity is unknown. */
const RETRY_MS = 5_000;

/**
 * Returns the resolved event; undefined if no identity is needed. Rejects with a DeliveryError while an
 * identity is unknown.
 */
export function resolveEvent(
  event: InboundEvent,
  bots: readonly WorkspaceBot[],
): Promise<InboundEvent> | undefined {
  return isUnresolved(event, bots) ? requestIdentities(event, bots) : undefined;
}

async function requestIdentities(event: InboundEvent, bots: readonly WorkspaceBot[]): Promise<InboundEvent> {
  await Promise.all(bots.map((bot) => bot.identifyForEvent()));
  const resolvedEvent = withBots(event, usersOf(bots, event.payload));
  if (!isUnresolved(event, bots) || !needsIdentity(event, bots)) return resolvedEvent;
  const isOverdue = bots.some(({ isStillUnknown }) => isStillUnknown);
  if (isOverdue && !isUndecided(bots, event.payload))
    return {
      ...resolvedEvent,
      unsupported: 'the bot itself may have written it: the platform does not return the bot identity',
    };
  throw new DeliveryError('waiting for the bot identity', {
    isFinal: isOverdue,
    isRateLimited: !isOverdue,
    isUncontacted: true,
    retryAfterMs: RETRY_MS,
  });
}

function isUnresolved({ payload }: InboundEvent, bots: readonly WorkspaceBot[]): boolean {
  const content = contentOf(payload);
  if (content === undefined) return false;
  return isOurs(content, bots, payload) === undefined || isUndecided(bots, payload);
}

/** Returns false for a person's message: bot messages are marked as such. */
function needsIdentity({ payload }: InboundEvent, bots: readonly WorkspaceBot[]): boolean {
  const content = contentOf(payload);
  const isByPerson = content?.type === 'message' && !content.isByBot;
  return !isByPerson || isUndecided(bots, payload);
}
