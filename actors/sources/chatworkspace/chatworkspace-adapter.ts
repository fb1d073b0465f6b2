// Triggers of type ChatWorkspace: a workspace chat whose events come over a socket, or signed to a path. All triggers of one app
// share one connection (actors/connections), its limits and one order of what comes.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import { chatFilters } from '../../inbox/chat-filters.ts';
import type { Adapter, InboundEvent, OpenTrigger, SourceHost } from '../adapter.ts';
import { openBoth } from '../webhook-and-connection.ts';
import { WebhookTable } from '../webhook-table.ts';
import { readWorkspaceEvent } from './chatworkspace-event.ts';
import { workspaceOutbound } from './chatworkspace-outbound.ts';
import { chatWorkspacePath, type WorkspaceSubscriber } from './chatworkspace-path.ts';
import { signatureVerifier } from './signature-verifier.ts';
import { signedConnector } from './signed-connector.ts';
import { slashCommands } from './slash-commands.ts';
import { socketConnector } from './socket-connector.ts';
import { WorkspaceAccounts } from './workspace-account.ts';
import { WorkspaceInbox } from './workspace-inbox.ts';
import { workspacePacing } from './workspace-pacing.ts';
import { teamsOf } from './workspace-payload.ts';

/** `maxBodyBytes` bounds one request to a webhook. */
export function chatWorkspaceAdapter(maxBodyBytes: number): Adapter<ChatWorkspaceTrigger> {
  const accounts = new WorkspaceAccounts();
  const table = new WebhookTable<WorkspaceSubscriber>(chatWorkspacePath(maxBodyBytes));
  const takes = (trigger: ChatWorkspaceTrigger, event: InboundEvent): boolean =>
    isOfTeam(accounts.botOf(trigger).identity?.team, event) && isWanted(trigger, event);
  return {
    type: 'ChatWorkspace',
    account: (trigger) => accounts.of(trigger).name,
    async open(trigger: ChatWorkspaceTrigger, host: SourceHost): Promise<OpenTrigger> {
      const account = accounts.of(trigger);
      account.channels.tellTo(host.log);
      const inbox = new WorkspaceInbox({ account, host, botOf: accounts.botOf });
      const { botOf } = accounts;
      const connector =
        trigger.config.mode === 'http'
          ? signedConnector({ trigger, host, botOf })
          : socketConnector({ trigger, host, botOf, app: account.name, inbox });
      const used = host.connections.use({ trigger, connector });
      if (trigger.config.mode === 'socket') return { close: () => used.release() };
      return openBoth(used, () => {
        const verifier = signatureVerifier(trigger.config.signing_secret);
        const subscriber = { trigger, host, methods: ['POST'], verifier, account, inbox };
        return table.add(subscriber, trigger.config.path);
      });
    },
    read(stored) {
      const event = readWorkspaceEvent(stored);
      return withNames(event, accounts.named(event.account ?? '')?.channels.known(event.channel ?? ''));
    },
    complete(event, triggers) {
      const { channel = '' } = event;
      if (event.unsupported !== undefined) return undefined;
      const asking = triggers.find((trigger) => needsName(trigger, event) && takes(trigger, event));
      if (asking === undefined) return undefined;
      const { channels } = accounts.of(asking);
      if (channels.known(channel) !== undefined) return undefined;
      return channels.ask(channel, accounts.botOf(asking).api).then((names) => withNames(event, names));
    },
    takes,
    filters: ({ config }) => chatFilters(config),
    outbound: workspaceOutbound({
      pacing: workspacePacing(),
      apiOf: (trigger) => accounts.botOf(trigger).api,
      accountOf: (trigger) => accounts.of(trigger).name,
    }),
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

/** An app may be in several workspaces, with a bot in each. */
function isOfTeam(team: string | undefined, { payload }: InboundEvent): boolean {
  const teams = teamsOf(payload);
  return team === undefined || teams.length === 0 || teams.includes(team);
}

/** `events` knows messages only. A mention is a message as well. */
function isWanted({ config }: ChatWorkspaceTrigger, { context }: InboundEvent): boolean {
  const kind = context['chat.event'];
  if (kind !== 'message' && kind !== 'mention') return true;
  if (config.bots === 'ignore' && context['chat.sender.is_bot'] === true) return false;
  const { events } = config;
  return events.length === 0 || events.includes('message') || kind === 'mention';
}
