// Adapter for triggers of type TeamChat. The platform sends activities (messages, reactions, and so on) to a
// webhook, and accepts messages at the service URL of each activity. Several bots may share a path; the token
// identifies the app.

import type { TeamChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { chatFilters } from '../../events/inbox/chat-filters.ts';
import type { Adapter, AdapterServices, OpenTrigger, TriggerHost } from '../adapter.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { isAllowed } from './access-filter.ts';
import { readActivityEvent } from './event.ts';
import { teamChatOutbound } from './outbound.ts';
import { teamPacing } from './pacing.ts';
import { type TeamChatSubscriber, teamChatPath } from './path.ts';
import { StoredConversations } from './stored-conversations.ts';

/**
 * Maximum request size; activities have some hundred kilobytes. Bounds the work for unverified requests.
 */
const MAX_ACTIVITY_BYTES = 1024 * 1024;

export function teamChatAdapter({ maxBodyBytes, store }: AdapterServices): Adapter<TeamChatTrigger> {
  const conversations = new StoredConversations(store);
  const table = new WebhookTable<TeamChatSubscriber>(
    teamChatPath(Math.min(maxBodyBytes, MAX_ACTIVITY_BYTES), conversations),
  );
  return {
    type: 'TeamChat',
    account: ({ config }) => config.app_id,
    async open(trigger: TeamChatTrigger, host: TriggerHost): Promise<OpenTrigger> {
      // Loaded on demand, because only this type verifies such tokens.
      const { teamChatVerifier } = await import('./verifier.ts');
      const verifier = teamChatVerifier(trigger.config);
      return { close: await table.add({ trigger, host, methods: ['POST'], verifier }, trigger.config.path) };
    },
    read: readActivityEvent,
    accepts: isAllowed,
    filters: ({ config }) => chatFilters({ channels: config.allowed_channels }),
    outbound: teamChatOutbound(teamPacing(), conversations),
  };
}
