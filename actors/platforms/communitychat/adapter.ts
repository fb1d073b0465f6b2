// Adapter for triggers of type CommunityChat. The platform sends signed interactions (commands, button
// presses, forms) to a webhook, and accepts replies for 15 minutes. Triggers with the same application share
// commands, rate limits and conversations.

import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { ClientsByCredential } from '../accounts/clients-by-credential.ts';
import { openWithConnection } from '../accounts/webhook-and-connection.ts';
import type { Adapter, AdapterServices, OpenTrigger, TriggerHost } from '../adapter.ts';
import { Diagnostics } from '../diagnostics.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { filtersOf, isAllowed } from './access-filter.ts';
import { CommunityChatApi } from './api.ts';
import { commandsIn, menuOf, menusOf } from './command-menu.ts';
import { communityChatConnector } from './connector.ts';
import { ed25519Verifier } from './ed25519-verifier.ts';
import { readInteractionEvent } from './event.ts';
import { InteractionTokens } from './interaction-tokens.ts';
import { MenuSync } from './menu-sync.ts';
import { communityChatOutbound } from './outbound.ts';
import { communityPacing } from './pacing.ts';
import { type CommunityChatSubscriber, communityChatPath } from './path.ts';

/** Maximum request size; interactions are small. Bounds the work for unverified requests. */
const MAX_INTERACTION_BYTES = 262_144;

export function communityChatAdapter({
  maxBodyBytes,
  store,
}: AdapterServices): Adapter<CommunityChatTrigger> {
  const tokens = new InteractionTokens(store);
  const { required: apiOf } = new ClientsByCredential<CommunityChatTrigger, CommunityChatApi>(
    ({ config }) => [config.application_id, config.bot_token, config.api_root],
    ({ config }) => new CommunityChatApi(config),
  );
  const sentDigests = new Map<string, string>();
  const diagnostics = new Diagnostics();
  const table = new WebhookTable<CommunityChatSubscriber>(
    communityChatPath(Math.min(maxBodyBytes, MAX_INTERACTION_BYTES), tokens),
  );
  return {
    type: 'CommunityChat',
    account: ({ config }) => config.application_id,
    async open(trigger: CommunityChatTrigger, host: TriggerHost): Promise<OpenTrigger> {
      const { application_id, public_key, path } = trigger.config;
      const menuSync = new MenuSync(apiOf(trigger), application_id, store, sentDigests);
      const onRefusal = (reason: string) => diagnostics.add(application_id, reason);
      const connector = communityChatConnector(trigger, menuSync, onRefusal);
      const connectionUse = host.connections.use({ trigger, connector });
      return openWithConnection(connectionUse, () => {
        const verifier = ed25519Verifier(public_key);
        return table.add({ trigger, host, methods: ['POST'], verifier }, path);
      });
    },
    read: readInteractionEvent,
    accepts: isAllowed,
    filters: filtersOf,
    hasBuiltIns: true,
    outbound: communityChatOutbound(tokens, apiOf, communityPacing()),
    diagnostics: ({ config }) => diagnostics.of(config.application_id),
    menu: (triggers) =>
      commandsIn(menusOf(triggers)).map(({ name, description }) => ({ command: name, description })),
    isInMenu: ({ config: { register, guild_ids } }, guild) =>
      register !== 'never' && (guild === undefined || guild_ids.length === 0 || guild_ids.includes(guild)),
    async register(triggers, { guild, signal }) {
      const [first] = triggers;
      if (first === undefined) return [];
      const menus = guild === undefined ? menusOf(triggers) : new Map([[guild, menuOf(triggers)]]);
      for (const [scope, commands] of menus) await apiOf(first).putCommands(scope, commands, signal);
      return commandsIn(menus).map(({ name }) => `/${name}`);
    },
  };
}
