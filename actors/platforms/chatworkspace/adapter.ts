// Triggers of type ChatWorkspace: a workspace chat whose events come over a socket, or signed to a path. All triggers of one app
// share one connection (actors/platforms/connections), its limits and one order of what comes.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { chatFilters } from '../../events/inbox/chat-filters.ts';
import { openBoth } from '../accounts/webhook-and-connection.ts';
import type { Adapter, AdapterServices, OpenTrigger, SourceHost } from '../adapter.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { WorkspaceAccounts } from './account.ts';
import { accountIn, readWorkspaceEvent } from './event.ts';
import { WorkspaceInbox } from './inbox.ts';
import { workspaceOutbound } from './outbound.ts';
import { workspacePacing } from './pacing.ts';
import { chatWorkspacePath, type WorkspaceSubscriber } from './path.ts';
import { signatureVerifier } from './signature-verifier.ts';
import { signedConnector } from './signed-connector.ts';
import { slashCommands } from './slash-commands.ts';
import { socketConnector } from './socket-connector.ts';
import { decided } from './undecided-event.ts';
import { takes } from './who-may.ts';

/** As a frame of a socket is bounded: what a stranger may have us check is no larger. */
const MAX_REQUEST_BYTES = 4_194_304;

export function chatWorkspaceAdapter(services: AdapterServices): Adapter<ChatWorkspaceTrigger> {
  const accounts = new WorkspaceAccounts(services);
  const table = new WebhookTable<WorkspaceSubscriber>(
    chatWorkspacePath(Math.min(services.maxBodyBytes, MAX_REQUEST_BYTES)),
  );
  const named = (event: InboundEvent, triggers: readonly ChatWorkspaceTrigger[]) => {
    const { channel = '' } = event;
    const asking = triggers.find(
      (trigger) => needsName(trigger, event) && takes(accounts.of(trigger).bots, trigger, event),
    );
    if (asking === undefined) return undefined;
    const { channels } = accounts.of(asking);
    const { api } = accounts.botOf(asking);
    if (channels.known(channel, api) !== undefined) return undefined;
    return channels.ask(channel, api).then((names) => withNames(event, names));
  };
  return {
    type: 'ChatWorkspace',
    account: (trigger) => accounts.of(trigger).name,
    async open(trigger: ChatWorkspaceTrigger, host: SourceHost): Promise<OpenTrigger> {
      const account = accounts.of(trigger);
      const { botOf } = accounts;
      // Events may have waited for it; where the store fails it is asked for again.
      void botOf(trigger)
        .load()
        .catch(() => {});
      const inbox = new WorkspaceInbox({ account, host });
      const leave = account.bots.join(trigger);
      const connector =
        trigger.config.mode === 'http'
          ? signedConnector({ trigger, botOf })
          : socketConnector({ trigger, host, botOf, app: account.name, inbox });
      const connection = host.connections.use({ trigger, connector });
      const used = {
        release: () => {
          leave();
          return connection.release();
        },
      };
      if (trigger.config.mode === 'socket') return { close: () => used.release() };
      return openBoth(used, () => {
        const verifier = signatureVerifier(trigger.config.signing_secret);
        const subscriber = { trigger, host, methods: ['POST'], verifier, account, inbox };
        return table.add(subscriber, trigger.config.path);
      });
    },
    read(stored) {
      const account = accounts.named(accountIn(stored));
      const event = readWorkspaceEvent(stored, account?.bots.users ?? []);
      return withNames(event, account?.channels.known(event.channel ?? ''));
    },
    complete(event, triggers) {
      const [first] = triggers;
      if (event.unsupported !== undefined || first === undefined) return undefined;
      const known = decided(event, accounts.of(first).bots.with(triggers));
      if (known === undefined) return named(event, triggers);
      return known.then((later) => named(later, triggers) ?? later);
    },
    takes: (trigger, event) => takes(accounts.of(trigger).bots, trigger, event),
    filters: ({ config }) => chatFilters(config),
    outbound: workspaceOutbound({
      pacing: workspacePacing(),
      apiOf: (trigger) => accounts.botOf(trigger).api,
      accountOf: (trigger) => accounts.of(trigger).name,
      senderOf: accounts.digestOf,
    }),
    remarks: (trigger) => accounts.of(trigger).channels.remarks,
    menuByHand: slashCommands,
  };
}

/** Ids are written in capitals; no name is. */
const isName = (channel: string) => !/^[CDG][A-Z0-9]+$/.test(channel);

/** Whether only the name of its channel tells if a filter takes it. */
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
  return { ...event, channelAliases, context: { ...event.context, 'chat.name': name } };
}
