// Who may use a trigger of a community chat, and where: by server, role and channel; and which trigger would take an interaction,
// where that has to be known before it is handled.

import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { type Filters, type Match, matched } from '../../../machines/matching.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { chatFilters } from '../../events/inbox/chat-filters.ts';
import { GUILD_ID, type Said, SENDER_ROLES } from './event.ts';

/** A direct message has no server and no roles: where a list is set nobody is let in without being on it. */
export function takes({ config }: CommunityChatTrigger, { context }: Pick<InboundEvent, 'context'>): boolean {
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

/** By the files as they are now; when it is handled they may be others. Undefined where nobody takes it. */
export function matchNow(
  triggers: readonly CommunityChatTrigger[],
  said: Said,
): Match<CommunityChatTrigger> | undefined {
  const taking = triggers.filter((trigger) => takes(trigger, said));
  const match = matched(taking, { ...said, needsNoCommand: true }, filtersOf);
  return typeof match === 'string' ? undefined : match;
}
