// Connector of an application. Interactions arrive at the webhook; the connector only updates the command
// menus when the triggers change.

import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { webhookConnection } from '../accounts/webhook-connection.ts';
import { ConnectionError, type Connector } from '../connections/connector.ts';
import type { MenuSync } from './menu-sync.ts';

export function communityChatConnector(
  { config }: CommunityChatTrigger,
  menuSync: MenuSync,
  onRefusal: (reason: string) => void,
): Connector<CommunityChatTrigger> {
  const { application_id, bot_token, api_root } = config;
  return {
    identity: JSON.stringify([application_id, bot_token, api_root]),
    isOnEveryNode: true,
    async connect() {
      return webhookConnection((triggers, signal) =>
        menuSync.sync(triggers, signal).catch((error: unknown) => {
          if (!(error instanceof DeliveryError)) throw error;
          const refusal = connectionErrorOf(error);
          onRefusal(refusal.message);
          throw refusal;
        }),
      );
    },
  };
}

function connectionErrorOf({ message, isFinal, retryAfterMs }: DeliveryError): ConnectionError {
  return new ConnectionError(`could not register the commands: ${message}`, {
    kind: isFinal ? 'refused' : 'transient',
    retryAfterMs,
  });
}
