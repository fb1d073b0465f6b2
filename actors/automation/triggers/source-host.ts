// What open triggers are given to do something in the world: one host each, since what happens to a trigger's connection is
// told to that trigger.

import type { Log } from '../../base/errors/log.ts';
import type { DeliveryControl } from '../../events/inbox/delivery-control.ts';
import type { ConnectedAccount } from '../../events/outbox/connected-account.ts';
import { destinationKey } from '../../events/outbox/outbox-rows.ts';
import type { SourceHost } from '../../platforms/adapter.ts';
import type {
  ConnectionRegistry,
  WatchedConnection,
} from '../../platforms/connections/connection-registry.ts';
import type { Store } from '../../store/store.ts';
import type { TriggerCounters } from './trigger-counters.ts';
import type { WebhookListeners } from './webhook-listeners.ts';

/** What a trigger's actor hears of its connection. */
export interface ConnectionObserver {
  /** The one that it uses from now on; undefined when it uses none any more. */
  onConnection(connection: WatchedConnection | undefined): void;
  /** Why the platform refuses it; undefined when it works again. */
  onRefused(reason: string | undefined): void;
}

export interface SourceHostOptions {
  readonly store: Store;
  readonly log: Log;
  readonly deliveries: DeliveryControl;
  readonly counters: Pick<TriggerCounters, 'countRefused'>;
  readonly listeners: WebhookListeners;
  readonly connections: ConnectionRegistry;
}

/** `account` is that of the trigger, asked for where it wants a connection. */
export function sourceHost(
  { store, log, deliveries, counters, listeners, connections }: SourceHostOptions,
  observer: ConnectionObserver,
  account: () => ConnectedAccount,
): SourceHost {
  const { accept, settled, discard, cancel } = deliveries;
  return {
    ...{ store, log, accept, settled, discard, cancel },
    undeliver: (platform, account, messages) =>
      deliveries.undeliver(destinationKey({ platform, account }, ''), messages),
    onProofRefused: (trigger, refused) => counters.countRefused(trigger, refused),
    listen: (webhook, address) => listeners.listen(webhook, address),
    connections: {
      use: (use) => {
        const connection = connections.use({ ...use, ...account() }, (reason) => observer.onRefused(reason));
        observer.onConnection(connection);
        return {
          release: () => {
            observer.onConnection(undefined);
            return connection.release();
          },
        };
      },
    },
  };
}
