// A listening modern client's stream (2026-07-28, "Subscriptions"): the endless response to a listen request.
// The first message is the acknowledgement, which names the supported notifications; then the client receives
// only notifications that it requested, each with the id of the listen request. The gateway sends list
// changes itself, and subscribes to resources at servers of both protocol eras (with sessions, or stateless).
// When the stream closes, its subscriptions are removed.

import { type GatewayError, StoppedError } from '../../../base/errors/errors.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { errorMessage, notificationMessage, resultTextMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { changeMembers } from '../../jsonrpc/members.ts';
import { completeResult, metaKeys } from '../../jsonrpc/modern-meta.ts';
import { type Edit, type Message, rawJson, replaceSpan, sizeOf } from '../../jsonrpc/span.ts';
import { latestSessionVersion } from '../../servers/cache/introduction.ts';
import { ClientShares } from '../../servers/calls/client-shares.ts';
import type { CallOwner, ServerPeer } from '../../servers/calls/owner.ts';
import { type ListKind, listKinds } from '../../servers/lists/lists.ts';
import { listFilters } from '../../servers/notifications/upstream-listen.ts';
import { qualify } from '../aggregate/address-form.ts';
import { ClientDescription } from '../description.ts';
import type { ModernCaller } from '../eras/modern-caller.ts';
import type { Cancellable } from '../exchange.ts';
import type { Outlet } from '../outlet.ts';
import type { Profile } from '../profiles/profile.ts';
import type { SessionOwner } from './owner-budget.ts';

/** Byte of `{`. */
const BRACE = 0x7b;

/**
 * Maximum number of resources per listen request, and per server in a session. Further resources of a listen
 * request are ignored.
 */
export const MAX_URIS = 1000;
/** Limits of the messages stored before the acknowledgement; further messages are dropped. */
const MAX_EARLY = 256;
const MAX_EARLY_BYTES = 65_536;

export interface ListenStreamOptions {
  /** Server id at /mcp/:id; undefined at /mcp and /mcp/@NAME. */
  readonly target: string | undefined;
  /** Profile (a part of the servers) at /mcp/@NAME. */
  readonly profile?: Profile | undefined;
  readonly caller: ModernCaller;
  /** Principal (verified sender) and address of the client. The stream counts towards their session limit. */
  readonly owner: SessionOwner;
  /** Parts of the call limits that the principal uses. @default separate parts for this stream */
  readonly shares?: ClientShares | undefined;
  readonly outlet: Outlet;
  /** Name and version in the final result. */
  readonly serverInfo: unknown;
  /** Removes secrets from texts of the gateway (A9, ARCHITECTURE.md). */
  redact(text: string): string;
  readonly onEnd: (listening: ListenStream) => void;
}

export class ListenStream implements CallOwner {
  readonly target: string | undefined;
  readonly profile: Profile | undefined;
  readonly owner: SessionOwner;
  readonly shares: ClientShares;
  /** Sequence number for display, assigned by Sessions. */
  number = 0;
  /** Sequence number of the latest list change that the client was notified of (list-changes.ts). */
  notifiedAt = 0;
  /** Start, by performance.now(). */
  readonly openedAt = performance.now();
  /** Name in log lines. */
  readonly label = 'listen';
  /** Modern clients send stateless requests; legacy clients have sessions. */
  readonly era = 'modern';
  readonly isListener = true;
  /** Version for a client's own connections to legacy servers. Unused: a listen stream has no connections. */
  readonly protocolVersion = latestSessionVersion;
  readonly description: ClientDescription;
  /** Lists to notify about; set before the acknowledgement. */
  kinds: ReadonlySet<ListKind> = new Set();
  /** Pending request for the description of the server, before the acknowledgement. */
  call: Cancellable | undefined;
  isEnded = false;
  /** Resources requested under qualified addresses: with a server id (address-form.ts). At most MAX_URIS. */
  readonly #qualified = new Set<string>();
  readonly #rawId: string;
  readonly #options: Omit<ListenStreamOptions, 'caller'>;
  /** Messages received before the acknowledgement; undefined afterwards. */
  #earlyMessages: Message[] | undefined = [];
  #earlyBytes = 0;

  constructor(envelope: Envelope, { caller, ...options }: ListenStreamOptions) {
    this.#rawId = envelope.rawId;
    this.#options = options;
    this.target = options.target;
    this.profile = options.profile;
    this.owner = options.owner;
    this.shares = options.shares ?? new ClientShares();
    this.description = new ClientDescription(caller.clientInfo, caller.capabilities);
  }

  get clientInfo(): unknown {
    return this.description.clientInfo;
  }

  get capabilities(): Readonly<Record<string, unknown>> {
    return this.description.capabilities;
  }

  get hasOpenStream(): boolean {
    return !this.isEnded;
  }

  belongsTo(server: string): boolean {
    return this.target === server;
  }

  /** Sends the acknowledgement, then the messages that arrived before it. */
  acknowledge(uris: readonly string[]): void {
    const earlyMessages = this.#earlyMessages;
    if (this.isEnded || earlyMessages === undefined) return;
    this.#earlyMessages = undefined;
    const kinds = Object.entries(listFilters).filter(([, kind]) => this.kinds.has(kind));
    const notifications = {
      ...Object.fromEntries(kinds.map(([name]) => [name, true])),
      ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }),
    };
    this.#options.outlet.send(
      this.#notification('notifications/subscriptions/acknowledged', { notifications }),
    );
    for (const message of earlyMessages) this.#send(message);
    // No notification can follow.
    if (kinds.length === 0 && uris.length === 0) this.end();
  }

  /** Records that the client requested the resource under its qualified address. `uri` has no server id. */
  noteQualified(server: string, uri: string): void {
    this.#qualified.add(`${server}\n${uri}`);
  }

  #isQualified(server: string, uri: string): boolean {
    return this.#qualified.has(`${server}\n${uri}`);
  }

  /** Returns the address in the client's request for a resource of the server. */
  nameOf(server: string, uri: string): string {
    return this.#isQualified(server, uri) ? (qualify(server, uri) ?? uri) : uri;
  }

  /** Sends a list_changed notification. */
  notify(kind: ListKind): void {
    if (this.kinds.has(kind)) this.#send(this.#notification(listKinds[kind].changed, {}));
  }

  /** A listening client answers no server requests. */
  onServerRequest(): void {}

  onServerNotification(connection: ServerPeer, envelope: Envelope): void {
    // No messages from servers outside the profile (PFL2, profiles/profile.ts).
    if (this.profile?.has(connection.server) === false) return;
    const { bytes, params } = envelope;
    if (envelope.method !== 'notifications/resources/updated' || params === undefined) return;
    const meta = envelope.param('_meta');
    const ownId = { [metaKeys.subscriptionId]: this.#rawId };
    const idEdits =
      meta !== undefined && bytes[meta.start] === BRACE
        ? changeMembers(bytes, meta, ownId)
        : changeMembers(bytes, params, { _meta: `{${rawJson(metaKeys.subscriptionId)}:${this.#rawId}}` });
    const edits =
      this.#qualified.size === 0 ? idEdits : [...idEdits, ...this.#nameEdits(connection, envelope)];
    // Edits do not copy a large message, so all listening clients share its pieces.
    this.#send(applyEdits(bytes, edits));
  }

  /** Returns the edits for updates under a qualified address. */
  #nameEdits({ server }: ServerPeer, envelope: Envelope): readonly Edit[] {
    const span = envelope.param('uri');
    const uri = envelope.paramText('uri');
    if (span === undefined || uri === undefined || !this.#isQualified(server, uri)) return [];
    return [replaceSpan(span, rawJson(this.nameOf(server, uri)))];
  }

  /** Fails the stream if its only server has lost the connection for the stream. */
  onConnectionEnd(server: string, _why: string, error: GatewayError): void {
    if (this.belongsTo(server)) this.fail(error);
  }

  /** Closes the stream with a result: the client has missed no notification. */
  end(): void {
    if (this.#earlyMessages !== undefined) {
      this.fail(new StoppedError('the listen request ended before it was acknowledged'));
      return;
    }
    if (!this.#close()) return;
    // `completeResult` adds `_meta` with the server's name; the subscription id is inserted there.
    const result = completeResult('{}', this.#options.serverInfo, undefined);
    const ownId = `${rawJson(metaKeys.subscriptionId)}:${this.#rawId},`;
    this.#options.outlet.finish(
      resultTextMessage(
        this.#rawId,
        result.replace('"_meta":{', () => `"_meta":{${ownId}`),
      ),
    );
  }

  /** Closes the stream with an error. */
  fail(error: GatewayError): void {
    if (!this.#close()) return;
    const message = error.messageFor(this.#options.redact);
    this.#options.outlet.finish(errorMessage(this.#rawId, error.rpcCode, message, error.data), error);
  }

  /** Closes the stream, because the client cancelled. */
  cancel(): void {
    if (this.#close()) this.#options.outlet.drop();
  }

  /** Closes the stream without a response. Returns false if it is already closed. */
  #close(): boolean {
    if (this.isEnded) return false;
    this.isEnded = true;
    this.#earlyMessages = undefined;
    this.call?.cancel('the client stopped listening');
    this.#options.onEnd(this);
    return true;
  }

  #send(message: Message): void {
    if (this.isEnded) return;
    if (this.#earlyMessages === undefined) this.#options.outlet.send(message);
    else if (
      this.#earlyMessages.length < MAX_EARLY &&
      this.#earlyBytes + sizeOf(message) <= MAX_EARLY_BYTES
    ) {
      this.#earlyBytes += sizeOf(message);
      this.#earlyMessages.push(message);
    }
  }

  #notification(method: string, params: Record<string, unknown>): Buffer {
    const plain = notificationMessage(method, { _meta: { [metaKeys.subscriptionId]: 0 }, ...params });
    // The id is inserted as raw JSON: `1` and `"1"` differ, and integers over 2^53 must be preserved. Raw
    // JSON is a Latin-1 string, one character per byte (span.ts).
    const text = plain
      .toString('latin1')
      .replace(
        `${rawJson(metaKeys.subscriptionId)}:0`,
        () => `${rawJson(metaKeys.subscriptionId)}:${this.#rawId}`,
      );
    return Buffer.from(text, 'latin1');
  }
}
