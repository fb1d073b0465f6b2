// A client's MCP session (revisions up to 2025-11-25): its requests in progress, its streams, and the server
// requests that the client has to answer. It has no state machine and no timer, so ten thousand idle sessions
// are cheap; a periodic sweep (sessions.ts) unloads unused sessions. Each server message is sent on a single
// stream. A session with an open stream or a request in flight is in use. `end` cancels its requests,
// withdraws requests to the client, and closes the streams.

import { LinkedList } from '../../../base/bounds/linked-list.ts';
import { type GatewayError, SessionClosedError } from '../../../base/errors/errors.ts';
import { anonymous, type Principal, principalText } from '../../../identity/principal.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { notificationMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { rawOf, replaceSpan, toBuffer } from '../../jsonrpc/span.ts';
import { ClientShares } from '../../servers/calls/client-shares.ts';
import type { CallOwner, ConnectionEnd, RelayingCall, ServerPeer } from '../../servers/calls/owner.ts';
import { refuseServerRequest } from '../../servers/notifications/server-request.ts';
import type { ListCopies } from '../aggregate/list-changes.ts';
import type { NamedResources } from '../aggregate/named-resources.ts';
import { ClientDescription } from '../description.ts';
import type { ClientExchange } from '../exchange.ts';
import type { Stream } from '../outlet.ts';
import type { Profile } from '../profiles/profile.ts';
import type { SessionOwner } from './owner-budget.ts';
import { PendingServerRequests } from './pending-server-requests.ts';
import { QualifiedSubscriptions } from './qualified-subscriptions.ts';
import type { ReplayBudget } from './replay-budget.ts';
import { ReplayBuffer } from './replay-buffer.ts';

export interface SessionOptions {
  readonly id: string;
  /** Server id at /mcp/:id; undefined at /mcp. */
  readonly target: string | undefined;
  /** Profile at /mcp/@NAME. */
  readonly profile?: Profile | undefined;
  readonly protocolVersion: string;
  readonly clientInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** Verified sender of `initialize`. No other principal can use the session. @default anonymous */
  readonly principal?: Principal;
  /** Network address of the client; undefined for a client of this process. */
  readonly client?: string | undefined;
  /** True if the session can be restored from its record (stored-sessions.ts). */
  readonly isStored?: boolean;
  /** Number of times the session was restored. @default 0 */
  readonly generation?: number;
  /** Memory budget for the replay buffers, shared by the sessions. */
  readonly replayBudget: ReplayBudget;
  /** Shares of the principal in the limits of calls. @default shares of this session alone */
  readonly shares?: ClientShares | undefined;
  /** Called when a session outside the queues of IdleSessions is no longer in use. */
  readonly onIdle?: (session: ClientSession) => void;
  readonly onConnectionLost: (
    session: ClientSession,
    server: string,
    why: ConnectionEnd,
    error: GatewayError,
  ) => void;
}

/** Distance between the stream numbers before and after a restoration, to recognise earlier event ids. */
const STREAMS_PER_GENERATION = 1_000_000;

/** Notifications that no request causes; sent on the notification stream if the client opened one. */
const sessionNotices = /^notifications\/(tools|prompts|resources)\/(list_changed|updated)$/;

export class ClientSession implements CallOwner {
  readonly id: string;
  /** Start of the id, for log lines. Computed once, because each call records it. */
  readonly label: string;
  readonly target: string | undefined;
  readonly profile: Profile | undefined;
  readonly principal: Principal;
  /** Principal and client address, towards whose limits the session counts. */
  readonly owner: SessionOwner;
  readonly isStored: boolean;
  readonly generation: number;
  readonly protocolVersion: string;
  readonly description: ClientDescription;
  /** Sequence number for display, assigned by Sessions. Unlike the id it gives no access. */
  number = 0;
  /** Versions of the merged lists that the client has (list-changes.ts); undefined at /mcp/:id. */
  lists: ListCopies | undefined;
  /** Resources that servers named for this client; undefined before the first one. */
  namedResources: NamedResources | undefined;
  /** Subscriptions under qualified addresses, which contain the server id. */
  readonly qualifiedSubscriptions = new QualifiedSubscriptions();
  /** Start, by performance.now(). */
  readonly openedAt = performance.now();
  /** Time of the client's last message, by performance.now(). */
  lastSeenAt = this.openedAt;
  /** Time of the last record, by performance.now(). */
  storedAt = this.openedAt;
  /** `lastSeenAt` when IdleSessions queued the session; undefined outside its queues. */
  queuedAt: number | undefined;
  isEnded = false;
  readonly shares: ClientShares;
  /** Notification stream. Set when the client first opens it, and kept after a disconnect. */
  stream: Stream | undefined;

  readonly #onConnectionLost: SessionOptions['onConnectionLost'];
  readonly #onIdle: SessionOptions['onIdle'];
  #exchanges: LinkedList<ClientExchange> | undefined;
  #serverRequests: PendingServerRequests | undefined;
  readonly #replayBudget: ReplayBudget;
  #replayBuffer: ReplayBuffer | undefined;
  #processes: Set<string> | undefined;
  #lostProcesses: Set<string> | undefined;

  constructor(options: SessionOptions) {
    this.id = options.id;
    this.label = options.id.slice(0, 8);
    this.target = options.target;
    this.profile = options.profile;
    this.principal = options.principal ?? anonymous;
    this.shares = options.shares ?? new ClientShares();
    this.owner = { principal: principalText(this.principal), client: options.client ?? '' };
    this.isStored = options.isStored ?? false;
    this.generation = options.generation ?? 0;
    this.protocolVersion = options.protocolVersion;
    this.description = new ClientDescription(options.clientInfo, options.capabilities);
    this.#replayBudget = options.replayBudget;
    this.#onConnectionLost = options.onConnectionLost;
    this.#onIdle = options.onIdle;
  }

  /** Legacy: with a session. Modern clients (2026-07-28) send stateless requests. */
  readonly era = 'legacy';
  readonly isListener = false;

  get clientInfo(): unknown {
    return this.description.clientInfo;
  }

  get capabilities(): Readonly<Record<string, unknown>> {
    return this.description.capabilities;
  }

  get hasOpenStream(): boolean {
    return this.stream?.isConnected === true;
  }

  belongsTo(server: string): boolean {
    return this.target === server;
  }

  /** Returns true if a request of this session is in progress at the server. */
  isAt(server: string): boolean {
    for (const exchange of this.#exchanges ?? []) if (exchange.server === server) return true;
    return false;
  }

  /** Returns true if messages of this server may reach the client (PFL2, profiles/profile.ts). */
  #mayReceive(server: string): boolean {
    return this.profile === undefined || this.profile.has(server) || this.isAt(server);
  }

  get inFlight(): number {
    return this.#exchanges?.size ?? 0;
  }

  get isInUse(): boolean {
    return this.hasOpenStream || this.inFlight > 0;
  }

  /** Events sent on the streams, for a client that lost a stream. */
  get replay(): ReplayBuffer {
    this.#replayBuffer ??= new ReplayBuffer(this.#replayBudget, {
      firstStream: this.generation * STREAMS_PER_GENERATION + 1,
      // A closed session stores no events.
      ...(this.isEnded ? { limitBytes: 0 } : {}),
    });
    return this.#replayBuffer;
  }

  get hasReplay(): boolean {
    return this.#replayBuffer !== undefined;
  }

  /** Returns true for a stream from before the restoration. */
  isEarlierStream(stream: number): boolean {
    return stream <= this.generation * STREAMS_PER_GENERATION;
  }

  /** Servers with `lost_process: error` that run, or ran, a process for this session only. */
  get processes(): Iterable<string> {
    return this.#processes ?? [];
  }

  /** True if the session got a private process after its record was stored. */
  hasNewProcess = false;

  /** Records that the session gets a private process. */
  noteProcess(server: string): void {
    if (this.#processes?.has(server) === true) return;
    this.#processes = (this.#processes ?? new Set()).add(server);
    this.hasNewProcess = true;
  }

  /** Records the loss of the session's process at this server. */
  noteLostProcess(server: string): void {
    this.#lostProcesses = (this.#lostProcesses ?? new Set()).add(server);
  }

  /** Returns true once after each loss of the session's process, so that one call reports the loss. */
  takeLostProcess(server: string): boolean {
    return this.#lostProcesses?.delete(server) === true;
  }

  begin(exchange: ClientExchange): void {
    this.#exchanges ??= new LinkedList();
    this.#exchanges.add(exchange);
    this.lastSeenAt = performance.now();
  }

  finish(exchange: ClientExchange): void {
    this.#exchanges?.delete(exchange);
    this.noteEndOfUse();
  }

  /** Records that a request or stream has ended. */
  noteEndOfUse(): void {
    this.lastSeenAt = performance.now();
    if (this.queuedAt === undefined && !this.isInUse && !this.isEnded) this.#onIdle?.(this);
  }

  /** Cancels the latest request with this id. Unknown ids are ignored, as specified. */
  cancel(rawId: string, reason?: string): void {
    const matching = [...(this.#exchanges ?? [])].filter((exchange) => exchange.rawId === rawId);
    matching.at(-1)?.cancel(reason);
  }

  /** Forwards the client's response to a server's request. */
  onClientAnswer(envelope: Envelope): void {
    this.#serverRequests?.answer(envelope);
  }

  onClientProgress(envelope: Envelope): void {
    this.#serverRequests?.progress(envelope);
  }

  onServerRequest(connection: ServerPeer, envelope: Envelope, call: RelayingCall | undefined): void {
    if (!this.#mayReceive(connection.server)) {
      refuseServerRequest(connection, envelope);
      return;
    }
    this.#serverRequests ??= new PendingServerRequests();
    const question = this.#serverRequests.add(connection, envelope, call);
    if (question === undefined || this.#deliver(question.message, connection, call, false)) return;
    this.#serverRequests.withdraw(question.id, 'the client has no open stream for requests');
  }

  /**
   * Sends a request of the gateway to the client, on the stream of the client's own request; `rawParams` is
   * raw JSON. Calls one of the callbacks, unless the returned function withdraws the request. A withdrawn or
   * expired request is cancelled at the client.
   */
  sendRequest(
    exchange: ClientExchange,
    question: { readonly method: string; readonly rawParams: string | undefined },
    onAnswer: (answer: Envelope) => void,
    onRefused: (why: string) => void,
  ): (why: string) => void {
    this.#serverRequests ??= new PendingServerRequests();
    const serverRequests = this.#serverRequests;
    // Undefined before the request is sent; `addOwn` may refuse immediately.
    let id: number | undefined;
    const sendCancelled = (reason: string) => {
      if (id !== undefined)
        exchange.relay(notificationMessage('notifications/cancelled', { requestId: id, reason }));
    };
    const request = serverRequests.addOwn(question.method, question.rawParams, onAnswer, (why) => {
      sendCancelled(why);
      onRefused(why);
    });
    if (request === undefined) return () => {};
    id = request.id;
    exchange.relay(request.message);
    return (why) => {
      serverRequests.forget(request.id);
      sendCancelled(why);
    };
  }

  onServerNotification(connection: ServerPeer, envelope: Envelope, call: RelayingCall | undefined): void {
    if (!this.#mayReceive(connection.server)) return;
    let message = this.qualifiedSubscriptions.updateFor(envelope, connection.server);
    if (envelope.method === 'notifications/cancelled') {
      const requestId = envelope.param('requestId');
      const id = requestId && this.#serverRequests?.idOf(connection, rawOf(envelope.bytes, requestId));
      if (requestId === undefined || id === undefined) return;
      this.#serverRequests?.forget(id);
      message = toBuffer(applyEdits(envelope.bytes, [replaceSpan(requestId, String(id))]));
    }
    this.#deliver(message, connection, call, sessionNotices.test(envelope.method));
  }

  onConnectionEnd(server: string, why: ConnectionEnd, error: GatewayError): void {
    if (!this.isEnded) this.#onConnectionLost(this, server, why, error);
  }

  /** Sends a notification of the gateway. */
  notify(message: Buffer): void {
    this.stream?.send(message);
  }

  closeStream(): void {
    this.stream?.end();
    this.stream = undefined;
  }

  end(why: string): void {
    if (this.isEnded) return;
    this.isEnded = true;
    for (const exchange of [...(this.#exchanges ?? [])]) {
      exchange.fail(new SessionClosedError(`the session has ended: ${why}`));
      exchange.call?.cancel();
    }
    this.#serverRequests?.withdrawAll(why);
    this.namedResources?.close();
    this.closeStream();
    this.#replayBuffer?.clear();
    this.#replayBuffer = undefined;
  }

  /**
   * Sends a message on one stream: the stream of the related call, the notification stream, or the stream of
   * another request on the same connection. With `prefersStream` the notification stream comes before the
   * streams of other requests. Returns false if there is no stream.
   */
  #deliver(
    message: Buffer,
    connection: ServerPeer,
    call: RelayingCall | undefined,
    prefersStream: boolean,
  ): boolean {
    if (call !== undefined && !call.isDone) {
      call.relay(message);
      return true;
    }
    const candidates = [...(this.#exchanges ?? [])].filter(
      (exchange) => exchange.call?.connection === connection,
    );
    // With several candidates, it is unknown which request the message belongs to. The notification stream is
    // then preferred.
    const [oldest] = candidates;
    if (this.stream !== undefined && (prefersStream || candidates.length !== 1)) {
      this.stream.send(message);
      return true;
    }
    oldest?.relay(message);
    return oldest !== undefined;
  }
}
