// Triggers of type CommunityChat: a chat whose platform sends signed interactions to a webhook, and takes answers for 15 minutes.
// Triggers of one application share its commands, its limits and its conversations.

import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { chatFilters } from '../../inbox/chat-filters.ts';
import type { Adapter, InboundEvent, OpenTrigger, SourceHost } from '../adapter.ts';
import { WebhookTable } from '../webhook-table.ts';
import { menuOf } from './command-menu.ts';
import { communityChatConnector } from './communitychat-connector.ts';
import { GUILD_ID, readInteractionEvent, SENDER_ROLES } from './communitychat-event.ts';
import { ChatClients, communityChatOutbound } from './communitychat-outbound.ts';
import { type ChatSubscriber, communityChatPath } from './communitychat-path.ts';
import { ed25519Verifier } from './ed25519-verifier.ts';
import { InteractionTokens } from './interaction-tokens.ts';
import { MenuKeeper } from './menu-keeper.ts';

/** Interactions are small; what a stranger may have us check is no larger. */
const MAX_INTERACTION_BYTES = 262_144;

/** `maxBodyBytes` bounds one request to a webhook. */
export function communityChatAdapter(maxBodyBytes: number): Adapter<CommunityChatTrigger> {
  const tokens = new InteractionTokens();
  const clients = new ChatClients();
  const table = new WebhookTable<ChatSubscriber>(
    communityChatPath(Math.min(maxBodyBytes, MAX_INTERACTION_BYTES), tokens),
  );
  return {
    type: 'CommunityChat',
    account: ({ config }) => config.application_id,
    async open(trigger: CommunityChatTrigger, host: SourceHost): Promise<OpenTrigger> {
      tokens.use(host.store);
      const { application_id, public_key, path } = trigger.config;
      const keeper = new MenuKeeper(clients.of(trigger), application_id, host.store);
      const used = host.connections.use({ trigger, connector: communityChatConnector(trigger, keeper) });
      try {
        const verifier = ed25519Verifier(public_key);
        const leave = await table.add({ trigger, host, methods: ['POST'], verifier }, path);
        return {
          close: async () => {
            await leave();
            await used.release();
          },
        };
      } catch (error) {
        await used.release();
        throw error;
      }
    },
    read: readInteractionEvent,
    takes,
    filters: ({ config }) => chatFilters({ channels: config.channels }),
    hasBuiltIns: true,
    outbound: communityChatOutbound(tokens, clients),
    menu: (triggers) => menuOf(triggers).map(({ name, description }) => ({ command: name, description })),
    async register(triggers, { guild, signal }) {
      const [first] = triggers;
      if (first === undefined) return [];
      const commands = menuOf(triggers);
      await clients.of(first).putCommands(guild, commands, signal);
      return commands.map(({ name }) => name);
    },
  };
}

/** A direct message has no server and no roles: where a list is set nobody is let in without being on it. */
function takes({ config }: CommunityChatTrigger, { context }: InboundEvent): boolean {
  const guild = context[GUILD_ID];
  const roles = context[SENDER_ROLES];
  const { guild_ids, allowed_roles } = config;
  if (guild_ids.length > 0 && (typeof guild !== 'string' || !guild_ids.includes(guild))) return false;
  return (
    allowed_roles.length === 0 || (Array.isArray(roles) && roles.some((role) => allowed_roles.includes(role)))
  );
}
