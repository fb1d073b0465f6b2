// The connection of an app whose events come by HTTP: nothing but a word to the platform, that its bots are who they are. Whoever
// sends to the webhook is its affair.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import { webhookConnection } from '../accounts/webhook-connection.ts';
import type { Connector } from '../connections/connector.ts';
import type { WorkspaceBot } from './bot.ts';
import { identifyBots, identifyFirst } from './users.ts';

export interface SignedConnectorOptions {
  readonly trigger: ChatWorkspaceTrigger;
  botOf(trigger: ChatWorkspaceTrigger): WorkspaceBot;
}

export function signedConnector({
  trigger: { config },
  botOf,
}: SignedConnectorOptions): Connector<ChatWorkspaceTrigger> {
  return {
    // Tokens of bots are no part of it: triggers of one app may have bots in several workspaces.
    identity: JSON.stringify(['http', config.api_root, config.signing_secret]),
    isOnEveryNode: true,
    async connect(signal, users) {
      await identifyFirst(users(), botOf, signal);
      return webhookConnection((triggers, ending) => identifyBots(triggers, botOf, ending));
    },
  };
}
