// Who may use a trigger of a community chat, and where: by server, role and channel.

import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Filters } from '../../../machines/matching.ts';
import { chatFilters } from '../../inbox/chat-filters.ts';
import type { InboundEvent } from '../adapter.ts';
import { GUILD_ID, SENDER_ROLES } from './communitychat-event.ts';

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
