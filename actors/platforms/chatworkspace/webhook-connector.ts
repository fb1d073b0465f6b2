// Connector for apps with webhooks. It only identifies the bots; the webhook endpoint (path.ts) receives the
// events.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import { webhookConnection } from '../accounts/webhook-connection.ts';
import type { Connector } from '../connections/connector.ts';
import type { WorkspaceBot } from './bot.ts';
import { identifyBots, identifyFirst } from './identify-bots.ts';

export interface WebhookConnectorOptions {
  readonly trigger: ChatWorkspaceTrigger;
  botOf(trigger: ChatWorkspaceTrigger): WorkspaceBot;
}

export function webhookConnector({
  trigger: { config },
  botOf,
}: WebhookConnectorOptions): Connector<ChatWorkspaceTrigger> {
  return {
    // Bot tokens are excluded, because an app can have bots in several workspaces.
    identity: JSON.stringify(['http', config.api_root, config.signing_secret]),
    isOnEveryNode: true,
    async connect(signal, users) {
      await identifyFirst(users(), botOf, signal);
      return webhookConnection((triggers, ending) => identifyBots(triggers, botOf, ending));
    },
  };
}
