// Triggers of type TeamChat: a team chat whose service sends activities to a webhook, and takes messages under the address that each
// activity names. Several bots may share a path; an activity is for the triggers of the app that its token is for.

import type { TeamChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { chatFilters } from '../../events/inbox/chat-filters.ts';
import type { Adapter, AdapterServices, OpenTrigger, SourceHost } from '../adapter.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { readActivityEvent } from './event.ts';
import { KnownConversations } from './known-conversations.ts';
import { teamChatOutbound } from './outbound.ts';
import { teamPacing } from './pacing.ts';
import { type TeamChatSubscriber, teamChatPath } from './path.ts';
import { takes } from './who-may.ts';

/** A message of the platform has at most some hundred kilobytes. */
const MAX_ACTIVITY_BYTES = 1024 * 1024;

export function teamChatAdapter({ maxBodyBytes, store }: AdapterServices): Adapter<TeamChatTrigger> {
  const conversations = new KnownConversations(store);
  const table = new WebhookTable<TeamChatSubscriber>(
    teamChatPath(Math.min(maxBodyBytes, MAX_ACTIVITY_BYTES), conversations),
  );
  return {
    type: 'TeamChat',
    account: ({ config }) => config.app_id,
    async open(trigger: TeamChatTrigger, host: SourceHost): Promise<OpenTrigger> {
      // Loaded where tokens are taken only.
      const { teamChatVerifier } = await import('./verifier.ts');
      const verifier = teamChatVerifier(trigger.config);
      return { close: await table.add({ trigger, host, methods: ['POST'], verifier }, trigger.config.path) };
    },
    read: readActivityEvent,
    takes,
    filters: ({ config }) => chatFilters({ channels: config.allowed_channels }),
    outbound: teamChatOutbound(teamPacing(), conversations),
  };
}
