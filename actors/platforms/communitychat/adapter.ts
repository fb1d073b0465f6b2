// Triggers of type CommunityChat: a chat whose platform sends signed interactions to a webhook, and takes answers for 15 minutes.
// Triggers of one application share its commands, its limits and its conversations.

import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { ClientsByCredential } from '../accounts/clients-by-credential.ts';
import { openBoth } from '../accounts/webhook-and-connection.ts';
import type { Adapter, AdapterServices, OpenTrigger, SourceHost } from '../adapter.ts';
import { Remarks } from '../remarks.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { CommunityChatApi } from './api.ts';
import { linesOf, menuOf, menusOf } from './command-menu.ts';
import { communityChatConnector } from './connector.ts';
import { ed25519Verifier } from './ed25519-verifier.ts';
import { readInteractionEvent } from './event.ts';
import { InteractionTokens } from './interaction-tokens.ts';
import { MenuKeeper } from './menu-keeper.ts';
import { communityChatOutbound } from './outbound.ts';
import { communityPacing } from './pacing.ts';
import { type CommunityChatSubscriber, communityChatPath } from './path.ts';
import { filtersOf, takes } from './who-may.ts';

/** Interactions are small; what a stranger may have us check is no larger. */
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
  const menusPut = new Map<string, string>();
  const remarks = new Remarks();
  const table = new WebhookTable<CommunityChatSubscriber>(
    communityChatPath(Math.min(maxBodyBytes, MAX_INTERACTION_BYTES), tokens),
  );
  return {
    type: 'CommunityChat',
    account: ({ config }) => config.application_id,
    async open(trigger: CommunityChatTrigger, host: SourceHost): Promise<OpenTrigger> {
      const { application_id, public_key, path } = trigger.config;
      const keeper = new MenuKeeper(apiOf(trigger), application_id, store, menusPut);
      const onRefusal = (reason: string) => remarks.add(application_id, reason);
      const connector = communityChatConnector(trigger, keeper, onRefusal);
      const used = host.connections.use({ trigger, connector });
      return openBoth(used, () => {
        const verifier = ed25519Verifier(public_key);
        return table.add({ trigger, host, methods: ['POST'], verifier }, path);
      });
    },
    read: readInteractionEvent,
    takes,
    filters: filtersOf,
    hasBuiltIns: true,
    outbound: communityChatOutbound(tokens, apiOf, communityPacing()),
    remarks: ({ config }) => remarks.of(config.application_id),
    menu: (triggers) =>
      linesOf(menusOf(triggers)).map(({ name, description }) => ({ command: name, description })),
    isInMenu: ({ config: { register, guild_ids } }, guild) =>
      register !== 'never' && (guild === undefined || guild_ids.length === 0 || guild_ids.includes(guild)),
    async register(triggers, { guild, signal }) {
      const [first] = triggers;
      if (first === undefined) return [];
      const menus = guild === undefined ? menusOf(triggers) : new Map([[guild, menuOf(triggers)]]);
      for (const [scope, commands] of menus) await apiOf(first).putCommands(scope, commands, signal);
      return linesOf(menus).map(({ name }) => `/${name}`);
    },
  };
}
