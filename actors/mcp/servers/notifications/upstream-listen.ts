// The `subscriptions/listen` request ("listen") to a modern server, for changed lists and subscribed
// resources. One listen per connection serves all clients (2026-07-28, "Subscriptions"). The filter of a
// listen is fixed, so a changed filter needs a new listen. When the server acknowledges it, the old listen is
// cancelled. Only notifications of the acknowledged listen are used, so clients are not notified twice. If
// the server closes the listen, it is reopened with a growing pause, unless the server rejected it.

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { changeMembers } from '../../jsonrpc/members.ts';
import { metaKeys } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { rawOf, toBuffer } from '../../jsonrpc/span.ts';
import type { Call } from '../calls/call.ts';
import { type ListKind, listKinds } from '../lists/lists.ts';
import type { Connection } from '../pool/connection.ts';

const ACK_MS = 5_000;
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;

/** Filter members for changed lists. */
export const listFilters: Readonly<Record<string, ListKind>> = {
  toolsListChanged: 'tools',
  promptsListChanged: 'prompts',
  resourcesListChanged: 'resources',
};

export class UpstreamListen {
  readonly connection: Connection;
  #wantedFilter = '';
  /** Filter sent with the newest listen. */
  #requestedFilter = '';
  #newest: Call | undefined;
  /** The newest acknowledged listen. Notifications of others are dropped. */
  #active: Call | undefined;
  /** Resolves with the resources acknowledged for the newest listen. */
  #acknowledged: Promise<ReadonlySet<string>> = Promise.resolve(new Set<string>());
  /** Set until the server acknowledges the newest listen. */
  #acknowledge: ((uris: ReadonlySet<string>) => void) | undefined;
  #pauseMs = MIN_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /**
   * Listens to list changes and these resources. Resolves with the resources that the server acknowledged,
   * after ACK_MS with an empty set.
   */
  sync(uris: readonly string[]): Promise<ReadonlySet<string>> {
    this.#wantedFilter = JSON.stringify(this.#filter(uris));
    return this.#openIfChanged();
  }

  /** Handles an acknowledgement, drops a notification of an outdated listen, and otherwise returns false. */
  tryHandle(envelope: Envelope): boolean {
    const span = envelope.meta(metaKeys.subscriptionId);
    const id = span === undefined ? undefined : Number(rawOf(envelope.bytes, span));
    if (envelope.method !== 'notifications/subscriptions/acknowledged')
      return id !== undefined && id !== this.#active?.id;
    if (id === undefined || id !== this.#newest?.id) return true;
    this.#pauseMs = MIN_PAUSE_MS;
    const { notifications } = (envelope.parse(envelope.params) ?? {}) as {
      notifications?: { resourceSubscriptions?: unknown };
    };
    const uris = notifications?.resourceSubscriptions;
    this.#acknowledge?.(new Set(Array.isArray(uris) ? (uris as string[]) : []));
    return true;
  }

  /** Opens a new listen if the wanted filter has changed, after the acknowledgement of the current one. */
  #openIfChanged(): Promise<ReadonlySet<string>> {
    if (this.#wantedFilter === this.#requestedFilter) return this.#acknowledged;
    if (this.#acknowledge !== undefined) return this.#acknowledged.then(() => this.#openIfChanged());
    this.#open();
    return this.#acknowledged;
  }

  /** Returns the filter for these resources and for the lists whose changes the server reports. */
  #filter(uris: readonly string[]): Record<string, unknown> {
    const { capabilities = {} } = this.connection.description ?? {};
    const changing = Object.entries(listFilters).filter(([, kind]) => {
      const declared = capabilities[listKinds[kind].capability] as { listChanged?: unknown } | undefined;
      return declared?.listChanged === true;
    });
    return {
      ...Object.fromEntries(changing.map(([name]) => [name, true])),
      ...(uris.length === 0 ? {} : { resourceSubscriptions: [...uris].sort() }),
    };
  }

  /** Opens a listen with the wanted filter. */
  #open(): void {
    clearTimeout(this.#timer);
    this.#requestedFilter = this.#wantedFilter;
    this.#newest = undefined;
    // An empty filter needs no listen.
    if (this.#requestedFilter === '{}' || this.connection.isEnded) {
      this.#acknowledged = Promise.resolve(new Set<string>());
      this.#activate(undefined);
      return;
    }
    const onEnded = (isRefused: boolean) => this.#onEnded(call, isRefused);
    const call = this.connection.listen(
      JSON.parse(this.#requestedFilter) as Record<string, unknown>,
      onEnded,
    );
    this.#newest = call;
    this.#acknowledged = new Promise((resolve) => {
      const acknowledge = (uris: ReadonlySet<string>) => {
        clearTimeout(timer);
        this.#acknowledge = undefined;
        if (!call.isDone) this.#activate(call);
        resolve(uris);
      };
      const timer = setTimeout(acknowledge, ACK_MS, new Set<string>()).unref();
      this.#acknowledge = acknowledge;
    });
  }

  /** Makes this listen the active one, and cancels the previous one. */
  #activate(call: Call | undefined): void {
    const before = this.#active;
    this.#active = call;
    if (before !== call) this.#cancel(before);
  }

  #onEnded(call: Call, isRefused: boolean): void {
    if (this.#active === call) this.#active = undefined;
    if (this.#newest !== call) return;
    this.#newest = undefined;
    this.#acknowledge?.(new Set());
    if (this.connection.isEnded || isRefused) return;
    this.#timer = setTimeout(() => this.#open(), this.#pauseMs).unref();
    this.#pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs * 2);
  }

  #cancel(call: Call | undefined): void {
    if (call !== undefined && !call.isDone) call.cancel('replaced by another listen');
  }
}

/** Returns the notification without the subscription id. */
export function withoutSubscriptionId(envelope: Envelope): Envelope {
  const meta = envelope.param('_meta');
  if (meta === undefined || envelope.meta(metaKeys.subscriptionId) === undefined) return envelope;
  const edits = changeMembers(envelope.bytes, meta, { [metaKeys.subscriptionId]: undefined });
  return readServerMessage(toBuffer(applyEdits(envelope.bytes, edits)));
}
