// Decides whether a trigger accepts an event: by tenant, and by its settings `bots` and `reactions`.

import type { TeamChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Activity, activityIn } from './activity.ts';
import { REACTION } from './event.ts';

export function isAllowed(trigger: TeamChatTrigger, event: InboundEvent): boolean {
  return isOfTenants(trigger, event) && isWanted(trigger, event);
}

/**
 * Returns true if `allowed_tenants` is empty or contains every tenant of the activity. With a list, an
 * activity that has no tenant is refused.
 */
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
  // The event is ignored with that note, which is more specific.
  if (unsupported !== undefined) return true;
  if (bots === 'ignore' && context['chat.sender.is_bot'] === true) return false;
  return reactions === 'allow' || context['chat.event'] !== REACTION;
}

/** The path has checked the tenants already; the configuration can change meanwhile. */
function isOfTenants(trigger: TeamChatTrigger, { payload }: InboundEvent): boolean {
  const activity = activityIn(payload as Activity['payload']);
  return activity !== undefined && areTenantsAllowed(trigger, activity);
}
