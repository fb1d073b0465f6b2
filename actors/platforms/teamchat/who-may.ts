// Who may use a trigger of a team chat: by tenant, and whether it hears other bots and reactions.

import type { TeamChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Activity, activityIn } from './activity.ts';
import { REACTION } from './event.ts';

export function takes(trigger: TeamChatTrigger, event: InboundEvent): boolean {
  return isOfTenants(trigger, event) && isWanted(trigger, event);
}

/** With a list an activity without a tenant is of none of them. */
export function areTenantsAllowed(
  { config: { allowed_tenants } }: TeamChatTrigger,
  { tenants }: Pick<Activity, 'tenants'>,
): boolean {
  if (allowed_tenants.length === 0) return true;
  return tenants.length > 0 && tenants.every((tenant) => allowed_tenants.includes(tenant));
}

function isWanted(
  { config: { bots, reactions } }: TeamChatTrigger,
  { context, unsupported }: InboundEvent,
): boolean {
  // Its own note says more.
  if (unsupported !== undefined) return true;
  if (bots === 'ignore' && context['chat.sender.is_bot'] === true) return false;
  return reactions === 'allow' || context['chat.event'] !== REACTION;
}

/** What the files say when it is handled counts as well. */
function isOfTenants(trigger: TeamChatTrigger, { payload }: InboundEvent): boolean {
  const activity = activityIn(payload as Activity['payload']);
  return activity !== undefined && areTenantsAllowed(trigger, activity);
}
