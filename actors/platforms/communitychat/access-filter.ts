// Decides whether a trigger accepts an event: by server (`guild_ids`) and by the sender's roles. Also finds
// the trigger of an interaction before its event is handled.

import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { type Filters, type Match, matchTrigger } from '../../../machines/matching.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { chatFilters } from '../../events/inbox/chat-filters.ts';
import { GUILD_ID, type InteractionContent, SENDER_ROLES } from './event.ts';

/**
 * Returns true if the trigger allows the server and a role of the sender. Direct messages have no server and
 * no roles, so a trigger with such a list refuses them.
 */
export function isAllowed(
  { config }: CommunityChatTrigger,
  { context }: Pick<InboundEvent, 'context'>,
): boolean {
  const guild = context[GUILD_ID];
  const roles = context[SENDER_ROLES];
  const { guild_ids, allowed_roles } = config;
  if (guild_ids.length > 0 && (typeof guild !== 'string' || !guild_ids.includes(guild))) return false;
  return (
    allowed_roles.length === 0 || (Array.isArray(roles) && roles.some((role) => allowed_roles.includes(role)))
  );
}

export function filtersOf({ config }: CommunityChatTrigger): Filters {
  return chatFilters({ channels: config.channels });
}

/**
 * Returns the matching trigger, and its command if the interaction names one. A press may belong to a message
 * without a command. The result is provisional: the event is matched again when it is handled, possibly with
 * changed triggers.
 */
export function findMatch(
  triggers: readonly CommunityChatTrigger[],
  content: InteractionContent,
): Match<CommunityChatTrigger> | undefined {
  const allowedTriggers = triggers.filter((trigger) => isAllowed(trigger, content));
  const match = matchTrigger(allowedTriggers, { ...content, needsNoCommand: true }, filtersOf);
  return typeof match === 'string' ? undefined : match;
}
