// Decides whether a trigger accepts an event: by workspace, and by its settings `bots` and `events`.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type AppBots, isOurs } from './app-bots.ts';
import type { WorkspaceBot } from './bot.ts';
import { contentOf } from './event.ts';

/** `bots` are the bots of the trigger's app, one per workspace. */
export function isAllowed(bots: AppBots, trigger: ChatWorkspaceTrigger, event: InboundEvent): boolean {
  return (
    bots.mayConcern(trigger, event.payload) &&
    !isUnanswerable(bots.with([trigger]), event) &&
    isWanted(trigger, event)
  );
}

/**
 * Returns true for messages of the app's own bots, and if another member than a bot of the app joined a
 * channel.
 */
function isUnanswerable(bots: readonly WorkspaceBot[], { payload }: InboundEvent): boolean {
  const content = contentOf(payload);
  if (content === undefined) return false;
  const isByBot = isOurs(content, bots, payload);
  return content.type === 'arrival' ? isByBot === false : isByBot === true;
}

/** Applies the settings `bots` and `events`, which concern messages only. A mention is also a message. */
function isWanted({ config }: ChatWorkspaceTrigger, { context }: InboundEvent): boolean {
  const kind = context['chat.event'];
  if (kind !== 'message' && kind !== 'mention') return true;
  if (config.bots === 'ignore' && context['chat.sender.is_bot'] === true) return false;
  const { events } = config;
  return events.length === 0 || events.includes('message') || kind === 'mention';
}
