// A listening modern client (2026-07-28, "Subscriptions"): a request whose answer is a stream without end. The gateway
// tells it of changed lists, which it knows of itself, and subscribes to resources at servers of either era for it.
//
// LS1  the acknowledgement comes first, and names only what will really be told.
// LS2  nothing is told that was not asked for, and everything carries the id of the listen, type and all.
// LS3  after its end nothing of it is left at any server.

import { type GatewayError, StoppedError } from '../../../base/errors/errors.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { errorMessage, notificationMessage, resultTextMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { changeMembers } from '../../jsonrpc/members.ts';
import { completeResult, metaKeys } from '../../jsonrpc/modern-meta.ts';
import { type Message, rawJson, sizeOf } from '../../jsonrpc/span.ts';
import { latestSessionVersion } from '../../servers/cache/server-description.ts';
import type { CallOwner, ServerPeer } from '../../servers/calls/call-owner.ts';
import { type ListKind, listKinds } from '../../servers/lists/lists.ts';
import { listFilters } from '../../servers/notifications/upstream-listen.ts';
import { ClientDescription } from '../client-description.ts';
import type { Cancellable } from '../client-exchange.ts';
import type { ModernCaller } from '../eras/modern-caller.ts';
import type { Outlet } from '../outlet.ts';
import type { Profile } from '../profiles/profile.ts';

/** More resources than this in one listen are not honoured, nor more of one server in a session. */
export const MAX_URIS = 1000;
/** What comes before the acknowledgement waits for it; more than this is dropped. */
const MAX_EARLY = 256;
const MAX_EARLY_BYTES = 65_536;

export interface ListenStreamOptions {
  /** The server it listens to; undefined at /mcp. */
  readonly target: string | undefined;
  /** The profile it listens to, at /mcp/@NAME. */
  readonly profile?: Profile | undefined;
  readonly caller: ModernCaller;
  readonly outlet: Outlet;
  readonly serverInfo: unknown;
  /** Strikes secrets from what the gateway says itself (A9). */
  redact(text: string): string;
  readonly onEnd: (listening: ListenStream) => void;
}

export class ListenStream implements CallOwner {
  readonly target: string | undefined;
  readonly profile: Profile | undefined;
  /** Which one it is, for people: given by Sessions, counting up. */
  number = 0;
  /** When it last heard of the merged lists, as ListChanges counts. */
  heardAt = 0;
  /** performance.now() of its beginning. */
  readonly openedAt = performance.now();
  readonly label = 'listen';
  readonly era = 'modern';
  readonly isListener = true;
  readonly protocolVersion = latestSessionVersion;
  readonly description: ClientDescription;
  /** The lists of which it hears; set before it is acknowledged. */
  kinds: ReadonlySet<ListKind> = new Set();
  /** What it waits for before it can be acknowledged. */
  call: Cancellable | undefined;
  isEnded = false;
  readonly #rawId: string;
  readonly #options: Omit<ListenStreamOptions, 'caller'>;
  #early: Message[] | undefined = [];
  #earlyBytes = 0;

  constructor(envelope: Envelope, { caller, ...options }: ListenStreamOptions) {
    this.#rawId = envelope.rawId;
    this.#options = options;
    this.target = options.target;
    this.profile = options.profile;
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

  /** Tells the client what it will hear of, and then what has happened meanwhile. */
  acknowledge(uris: readonly string[]): void {
    const early = this.#early;
    if (this.isEnded || early === undefined) return;
    this.#early = undefined;
    const kinds = Object.entries(listFilters).filter(([, kind]) => this.kinds.has(kind));
    const notifications = {
      ...Object.fromEntries(kinds.map(([name]) => [name, true])),
      ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }),
    };
    this.#options.outlet.send(this.#marked('notifications/subscriptions/acknowledged', { notifications }));
    for (const message of early) this.#send(message);
    if (kinds.length === 0 && uris.length === 0) this.end();
  }

  /** A list has changed. */
  notify(kind: ListKind): void {
    if (this.kinds.has(kind)) this.#send(this.#marked(listKinds[kind].changed, {}));
  }

  onServerRequest(): void {}

  onServerNotification(connection: ServerPeer, envelope: Envelope): void {
    // PFL2
    if (this.profile?.has(connection.server) === false) return;
    const { bytes, params } = envelope;
    if (envelope.method !== 'notifications/resources/updated' || params === undefined) return;
    const meta = envelope.param('_meta');
    const mark = { [metaKeys.subscriptionId]: this.#rawId };
    const edits =
      meta !== undefined && bytes[meta.start] === 0x7b
        ? changeMembers(bytes, meta, mark)
        : changeMembers(bytes, params, { _meta: `{${rawJson(metaKeys.subscriptionId)}:${this.#rawId}}` });
    // In pieces where it is large: all who listen are sent the same bytes.
    this.#send(applyEdits(bytes, edits));
  }

  /** There is no place for a connection on which it could hear: it is told, unless it hears of other servers too. */
  onConnectionEnd(server: string, _why: string, error: GatewayError): void {
    if (this.belongsTo(server)) this.fail(error);
  }

  /** The gateway ends it: the client is told that nothing was lost. */
  end(): void {
    if (this.#early !== undefined) {
      this.fail(new StoppedError('what was to be listened to has ended before that had begun'));
      return;
    }
    if (!this.#isEnding()) return;
    const result = completeResult('{}', this.#options.serverInfo, undefined);
    const mark = `${rawJson(metaKeys.subscriptionId)}:${this.#rawId},`;
    this.#options.outlet.finish(
      resultTextMessage(
        this.#rawId,
        result.replace('"_meta":{', () => `"_meta":{${mark}`),
      ),
    );
  }

  /** It could not be opened, or cannot go on. */
  fail(error: GatewayError): void {
    if (!this.#isEnding()) return;
    const message = error.messageFor(this.#options.redact);
    this.#options.outlet.finish(errorMessage(this.#rawId, error.rpcCode, message, error.data), error);
  }

  /** The client does not listen any more. */
  cancel(): void {
    if (this.#isEnding()) this.#options.outlet.drop();
  }

  #isEnding(): boolean {
    if (this.isEnded) return false;
    this.isEnded = true;
    this.#early = undefined;
    this.call?.cancel('the client listens no more');
    this.#options.onEnd(this);
    return true;
  }

  #send(message: Message): void {
    if (this.isEnded) return;
    if (this.#early === undefined) this.#options.outlet.send(message);
    else if (this.#early.length < MAX_EARLY && this.#earlyBytes + sizeOf(message) <= MAX_EARLY_BYTES) {
      this.#earlyBytes += sizeOf(message);
      this.#early.push(message);
    }
  }

  #marked(method: string, params: Record<string, unknown>): Buffer {
    const plain = notificationMessage(method, { _meta: { [metaKeys.subscriptionId]: 0 }, ...params });
    // The id is put in as raw JSON: `1` and `"1"` differ, and an integer beyond 2^53 must survive.
    const text = plain
      .toString('latin1')
      .replace(
        `${rawJson(metaKeys.subscriptionId)}:0`,
        () => `${rawJson(metaKeys.subscriptionId)}:${this.#rawId}`,
      );
    return Buffer.from(text, 'latin1');
  }
}
