// Adapter for triggers of type ChatWorkspace. Events arrive over a socket or as signed webhooks. Triggers
// with the same app share the connection (platforms/connections), the rate limits and the message order.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { chatFilters } from '../../events/inbox/chat-filters.ts';
import { openWithConnection } from '../accounts/webhook-and-connection.ts';
import type { Adapter, AdapterServices, OpenTrigger, TriggerHost } from '../adapter.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { isAllowed } from './access-filter.ts';
import { WorkspaceAccounts } from './account.ts';
import { accountIn, readWorkspaceEvent } from './event.ts';
import { WorkspaceInbox } from './inbox.ts';
import { workspaceOutbound } from './outbound.ts';
import { workspacePacing } from './pacing.ts';
import { chatWorkspacePath, type WorkspaceSubscriber } from './path.ts';
import { ResponseAddresses } from './response-addresses.ts';
import { signatureVerifier } from './signature-verifier.ts';
import { slashCommands } from './slash-commands.ts';
import { socketConnector } from './socket-connector.ts';
import { resolveEvent } from './unresolved-event.ts';
import { webhookConnector } from './webhook-connector.ts';

/** Maximum request size, equal to the socket frame limit. Bounds the work for unverified requests. */
const MAX_REQUEST_BYTES = 4_194_304;

export function chatWorkspaceAdapter(services: AdapterServices): Adapter<ChatWorkspaceTrigger> {
  const accounts = new WorkspaceAccounts(services);
  const responses = new ResponseAddresses(services.store);
  const table = new WebhookTable<WorkspaceSubscriber>(
    chatWorkspacePath(Math.min(services.maxBodyBytes, MAX_REQUEST_BYTES)),
  );
  const addChannelNames = (event: InboundEvent, triggers: readonly ChatWorkspaceTrigger[]) => {
    const { channel = '' } = event;
    const triggerWithFilter = triggers.find(
      (trigger) => needsName(trigger, event) && isAllowed(accounts.of(trigger).bots, trigger, event),
    );
    if (triggerWithFilter === undefined) return undefined;
    const { channels } = accounts.of(triggerWithFilter);
    const { api } = accounts.botOf(triggerWithFilter);
    if (channels.cachedNames(channel, api) !== undefined) return undefined;
    return channels.lookUp(channel, api).then((names) => withNames(event, names));
  };
  return {
    type: 'ChatWorkspace',
    account: (trigger) => accounts.of(trigger).name,
    async open(trigger: ChatWorkspaceTrigger, host: TriggerHost): Promise<OpenTrigger> {
      const account = accounts.of(trigger);
      const { botOf } = accounts;
      // Events may need the identity. If this load fails, the next event repeats it.
      void botOf(trigger)
        .load()
        .catch(() => {});
      const inbox = new WorkspaceInbox({ account, host, responses });
      const leave = account.bots.join(trigger);
      const connector =
        trigger.config.mode === 'http'
          ? webhookConnector({ trigger, botOf })
          : socketConnector({ trigger, host, botOf, app: account.name, inbox });
      const connection = host.connections.use({ trigger, connector });
      const connectionUse = {
        release: () => {
          leave();
          return connection.release();
        },
      };
      if (trigger.config.mode === 'socket') return { close: () => connectionUse.release() };
      return openWithConnection(connectionUse, () => {
        const verifier = signatureVerifier(trigger.config.signing_secret);
        const subscriber = { trigger, host, methods: ['POST'], verifier, account, inbox };
        return table.add(subscriber, trigger.config.path);
      });
    },
    read(stored) {
      const account = accounts.find(accountIn(stored));
      const event = readWorkspaceEvent(stored, account?.bots.users ?? []);
      return withNames(event, account?.channels.cachedNames(event.channel ?? ''));
    },
    addLookups(event, triggers) {
      const [first] = triggers;
      const isRead = event.unsupported === undefined || event.isWordless === true;
      if (!isRead || first === undefined) return undefined;
      const resolving = resolveEvent(event, accounts.of(first).bots.with(triggers));
      if (resolving === undefined) return addChannelNames(event, triggers);
      return resolving.then((resolved) => addChannelNames(resolved, triggers) ?? resolved);
    },
    accepts: (trigger, event) => isAllowed(accounts.of(trigger).bots, trigger, event),
    filters: ({ config }) => chatFilters(config),
    outbound: workspaceOutbound({
      pacing: workspacePacing(),
      apiOf: (trigger) => accounts.botOf(trigger).api,
      accountOf: (trigger) => accounts.of(trigger).name,
      credentialNameOf: accounts.digestOf,
      responses,
    }),
    diagnostics: (trigger) => accounts.of(trigger).channels.diagnostics,
    manualMenu: slashCommands,
  };
}

/** Channel ids are in capitals; names never are. */
const isName = (channel: string) => !/^[CDG][A-Z0-9]+$/.test(channel);

/** Returns true if the trigger's filters need the channel name. */
function needsName({ config: { channels } }: ChatWorkspaceTrigger, event: InboundEvent): boolean {
  const { channel = '', channelAliases = [] } = event;
  if (channel.startsWith('D') || !channels.some(isName)) return false;
  return ![channel, ...channelAliases].some((name) =>
    channels.some((each) => each.replace(/^#/, '') === name),
  );
}

function withNames(event: InboundEvent, names: readonly string[] = []): InboundEvent {
  const [name] = names;
  if (name === undefined) return event;
  const channelAliases = [...(event.channelAliases ?? []), ...names];
  return { ...event, channelAliases, channelName: name, context: { ...event.context, 'chat.name': name } };
}
