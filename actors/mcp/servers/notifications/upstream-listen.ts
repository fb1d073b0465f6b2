// The `subscriptions/listen` request to a modern server: for changes of its lists, and of the resources that clients
// have subscribed to. One per connection serves all clients (2026-07-28, "Subscriptions"). Its filter cannot be changed,
// so another filter means another request, and the old one is cancelled once the new one is acknowledged.
//
// U1  a listen that ends by itself is opened anew, after a pause that grows, as long as the connection lives; one that
//     is refused is not.
// U2  nobody waits longer than ACK_MS for one agreement of the server; a wish that comes meanwhile is asked for next.
// U3  at any time one listen counts, so that nobody is told twice while another takes its place.

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { changeMembers } from '../../jsonrpc/members.ts';
import { metaKeys } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { rawOf, whole } from '../../jsonrpc/span.ts';
import type { Call } from '../calls/call.ts';
import { type ListKind, listKinds } from '../lists/lists.ts';
import type { Connection } from '../pool/connection.ts';

const ACK_MS = 5_000;
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;

/** The members of a listen's filter that stand for a changed list. */
export const listFilters: Readonly<Record<string, ListKind>> = {
  toolsListChanged: 'tools',
  promptsListChanged: 'prompts',
  resourcesListChanged: 'resources',
};

export class UpstreamListen {
  readonly connection: Connection;
  #wanted = '';
  /** What the newest listen asks for. */
  #asked = '';
  #newest: Call | undefined;
  /** The one that counts: the newest that the server has agreed to. */
  #standing: Call | undefined;
  #honoured: Promise<ReadonlySet<string>> = Promise.resolve(new Set<string>());
  /** Set while the server has not agreed yet. */
  #agree: ((uris: ReadonlySet<string>) => void) | undefined;
  #pauseMs = MIN_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /** Listens to the lists and to these resources; resolves with those the server agreed to tell of. */
  sync(uris: readonly string[]): Promise<ReadonlySet<string>> {
    this.#wanted = JSON.stringify(this.#filter(uris));
    return this.#settled();
  }

  /** Takes the server's agreement, and what comes on a listen that does not count; false for any other notification. */
  take(envelope: Envelope): boolean {
    const span = envelope.meta(metaKeys.subscriptionId);
    const id = span === undefined ? undefined : Number(rawOf(envelope.bytes, span));
    if (envelope.method !== 'notifications/subscriptions/acknowledged')
      return id !== undefined && id !== this.#standing?.id;
    if (id === undefined || id !== this.#newest?.id) return true;
    this.#pauseMs = MIN_PAUSE_MS;
    const { notifications } = (envelope.parse(envelope.params) ?? {}) as {
      notifications?: { resourceSubscriptions?: unknown };
    };
    const uris = notifications?.resourceSubscriptions;
    this.#agree?.(new Set(Array.isArray(uris) ? (uris as string[]) : []));
    return true;
  }

  #settled(): Promise<ReadonlySet<string>> {
    if (this.#wanted === this.#asked) return this.#honoured;
    if (this.#agree !== undefined) return this.#honoured.then(() => this.#settled());
    this.#open();
    return this.#honoured;
  }

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

  #open(): void {
    clearTimeout(this.#timer);
    this.#asked = this.#wanted;
    this.#newest = undefined;
    if (this.#asked === '{}' || this.connection.isEnded) {
      this.#honoured = Promise.resolve(new Set<string>());
      this.#stand(undefined);
      return;
    }
    const ended = (isRefused: boolean) => this.#onEnded(call, isRefused);
    const call = this.connection.listen(JSON.parse(this.#asked) as Record<string, unknown>, ended);
    this.#newest = call;
    this.#honoured = new Promise((resolve) => {
      const agree = (uris: ReadonlySet<string>) => {
        clearTimeout(timer);
        this.#agree = undefined;
        if (!call.isDone) this.#stand(call);
        resolve(uris);
      };
      const timer = setTimeout(agree, ACK_MS, new Set<string>()).unref();
      this.#agree = agree;
    });
  }

  /** From now on this one counts, and none before it. */
  #stand(call: Call | undefined): void {
    const before = this.#standing;
    this.#standing = call;
    if (before !== call) this.#drop(before);
  }

  #onEnded(call: Call, isRefused: boolean): void {
    if (this.#standing === call) this.#standing = undefined;
    if (this.#newest !== call) return;
    this.#newest = undefined;
    this.#agree?.(new Set());
    if (this.connection.isEnded || isRefused) return;
    this.#timer = setTimeout(() => this.#open(), this.#pauseMs).unref();
    this.#pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs * 2);
  }

  #drop(call: Call | undefined): void {
    if (call !== undefined && !call.isDone) call.cancel('replaced by another listen');
  }
}

/** A notification without the mark of whose listen it came on. */
export function unmarked(envelope: Envelope): Envelope {
  const meta = envelope.param('_meta');
  if (meta === undefined || envelope.meta(metaKeys.subscriptionId) === undefined) return envelope;
  const edits = changeMembers(envelope.bytes, meta, { [metaKeys.subscriptionId]: undefined });
  return readServerMessage(whole(applyEdits(envelope.bytes, edits)));
}
