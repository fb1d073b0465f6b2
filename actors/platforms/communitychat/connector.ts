// An application has no connection: interactions come to its webhook. What its triggers share here is the menu of commands, which
// follows them over reloads.

import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { webhookConnection } from '../accounts/webhook-connection.ts';
import { ConnectionError, type Connector } from '../connections/connector.ts';
import type { MenuKeeper } from './menu-keeper.ts';

export function communityChatConnector(
  { config }: CommunityChatTrigger,
  keeper: MenuKeeper,
  onRefusal: (reason: string) => void,
): Connector<CommunityChatTrigger> {
  const { application_id, bot_token, api_root } = config;
  return {
    identity: JSON.stringify([application_id, bot_token, api_root]),
    isOnEveryNode: true,
    async connect() {
      return webhookConnection((triggers, signal) =>
        keeper.show(triggers, signal).catch((error: unknown) => {
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
  return new ConnectionError(`the commands were not registered: ${message}`, {
    kind: isFinal ? 'refused' : 'transient',
    retryAfterMs,
  });
}
