// Who may use a trigger of a workspace chat: by workspace, and whether it hears other bots and what mentions nobody.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type AppBots, isOurs } from './app-bots.ts';
import type { WorkspaceBot } from './bot.ts';
import { saidOf } from './event.ts';

/** `bots`: those of the trigger's app. */
export function takes(bots: AppBots, trigger: ChatWorkspaceTrigger, event: InboundEvent): boolean {
  return (
    bots.mayBeFor(trigger, event.payload) && !isOwn(bots.with([trigger]), event) && isWanted(trigger, event)
  );
}

/** What our bots have said themselves, and that somebody else came. */
function isOwn(bots: readonly WorkspaceBot[], { payload }: InboundEvent): boolean {
  const said = saidOf(payload);
  if (said === undefined) return false;
  const isIt = isOurs(said, bots, payload);
  return said.what === 'arrival' ? isIt === false : isIt === true;
}

/** `events` knows messages only. A mention is a message as well. */
function isWanted({ config }: ChatWorkspaceTrigger, { context }: InboundEvent): boolean {
  const kind = context['chat.event'];
  if (kind !== 'message' && kind !== 'mention') return true;
  if (config.bots === 'ignore' && context['chat.sender.is_bot'] === true) return false;
  const { events } = config;
  return events.length === 0 || events.includes('message') || kind === 'mention';
}
