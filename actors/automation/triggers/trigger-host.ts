// Services that adapters use for open triggers. Each trigger has a separate host, because connection events
// are reported per trigger.

import type { Log } from '../../base/errors/log.ts';
import type { DeliveryControl } from '../../events/inbox/delivery-control.ts';
import type { ConnectedAccount } from '../../events/outbox/connected-account.ts';
import { destinationKey } from '../../events/outbox/rows.ts';
import type { TriggerHost } from '../../platforms/adapter.ts';
import type {
  ConnectionRegistry,
  WatchedConnection,
} from '../../platforms/connections/connection-registry.ts';
import type { Store } from '../../store/store.ts';
import type { TriggerCounters } from './counters.ts';
import type { WebhookListeners } from './webhook-listeners.ts';

/** Receives the connection events of one trigger. */
export interface TriggerConnectionObserver {
  /** Called with the current connection; undefined after the release. */
  onConnection(connection: WatchedConnection | undefined): void;
  /** Called with the platform's reason for rejecting the connection; undefined after recovery. */
  onRefused(reason: string | undefined): void;
}

export interface TriggerHostOptions {
  readonly store: Store;
  readonly log: Log;
  readonly deliveries: DeliveryControl;
  readonly counters: Pick<TriggerCounters, 'countRefused' | 'countDuplicate'>;
  readonly listeners: WebhookListeners;
  readonly connections: ConnectionRegistry;
}

/** Trigger of a host. */
export interface HostedTrigger {
  readonly name: string;
  /** Returns the trigger's account; called when the trigger needs a connection. */
  account(): ConnectedAccount;
}

export function triggerHost(
  { store, log, deliveries, counters, listeners, connections }: TriggerHostOptions,
  observer: TriggerConnectionObserver,
  { name, account }: HostedTrigger,
): TriggerHost {
  const { waitUntilSettled, discard, cancel } = deliveries;
  const onDuplicate = (id: string) => counters.countDuplicate(name, id);
  return {
    store,
    log,
    async accept(event) {
      const appended = await deliveries.accept(event);
      if (appended.outcome === 'duplicate') onDuplicate(appended.id);
      return appended;
    },
    onDuplicate,
    waitUntilSettled,
    discard,
    cancel,
    // A platform may report later that it could not deliver a sent message. The message is then marked as
    // dead. The prefix selects all destinations of the account.
    undeliver: (platform, account, messages) =>
      deliveries.undeliver(destinationKey({ platform, account }, ''), messages),
    // Counts webhook requests with a wrong proof: a signature, a token or a key.
    onProofRefused: (trigger, refusal) => counters.countRefused(trigger, refusal),
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
