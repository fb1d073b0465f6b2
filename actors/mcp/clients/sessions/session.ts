// One client's MCP session (revisions up to 2025-11-25). It is a plain record, without a machine and without a timer, so
// that ten thousand idle ones cost little; one sweep ends those that have expired.
//
// M1  what a server asks or says for this session goes out on one stream only, never on two.
// M2  a session with an open stream or a call in flight is in use.
// M3  after `end` nothing of it is left: calls are cancelled, questions withdrawn, streams closed.

import { Share } from '../../../base/bounds/budget.ts';
import { LinkedList } from '../../../base/bounds/linked-list.ts';
import { type GatewayError, SessionGoneError } from '../../../base/errors/errors.ts';
import { anonymous, type Principal } from '../../../identity/principal.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { notificationMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { rawOf, replacing, whole } from '../../jsonrpc/span.ts';
import type { CallOwner, ConnectionEnd, RelayingCall, ServerPeer } from '../../servers/calls/call-owner.ts';
import { refuseServerRequest } from '../../servers/notifications/server-request.ts';
import type { ListCopies } from '../aggregate/list-changes.ts';
import { ClientDescription } from '../client-description.ts';
import type { ClientExchange } from '../client-exchange.ts';
import type { Stream } from '../outlet.ts';
import type { Profile } from '../profiles/profile.ts';
import { PendingServerRequests } from './pending-server-requests.ts';
import type { ReplayBudget } from './replay-budget.ts';
import { ReplayRing } from './replay-ring.ts';

export interface SessionOptions {
  readonly id: string;
  /** The server a session at /mcp/:id belongs to; undefined at /mcp. */
  readonly target: string | undefined;
  /** The profile a session at /mcp/@NAME belongs to. */
  readonly profile?: Profile | undefined;
  readonly protocolVersion: string;
  readonly clientInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** Whose it is; no other may use it. */
  readonly principal?: Principal;
  /** The budget of all sessions. */
  readonly replays: ReplayBudget;
  readonly onParting: (
    session: ClientSession,
    server: string,
    why: ConnectionEnd,
    error: GatewayError,
  ) => void;
}

/** Notices that concern the session rather than a request; they prefer the stream that is there for them. */
const sessionNotices = /^notifications\/(tools|prompts|resources)\/(list_changed|updated)$/;

export class ClientSession implements CallOwner {
  readonly id: string;
  readonly target: string | undefined;
  readonly profile: Profile | undefined;
  readonly principal: Principal;
  readonly protocolVersion: string;
  readonly description: ClientDescription;
  /** A number for people, counted up by Sessions. Unlike the id it is no key to the session. */
  number = 0;
  /** Which merged lists it was shown, and of which changes it is to be told (list-changes.ts). */
  lists: ListCopies | undefined;
  /** performance.now() when it began. */
  readonly openedAt = performance.now();
  /** performance.now() of the client's last message. */
  lastSeenAt = this.openedAt;
  isEnded = false;
  /** Its requests in flight. */
  readonly places = new Share();
  readonly largeBytes = new Share();
  /** Where messages go that belong to no request: since the client first listened, also while it is cut off. */
  stream: Stream | undefined;

  readonly #onParting: SessionOptions['onParting'];
  #exchanges: LinkedList<ClientExchange> | undefined;
  #asked: PendingServerRequests | undefined;
  readonly #replays: ReplayBudget;
  #replay: ReplayRing | undefined;

  constructor(options: SessionOptions) {
    this.id = options.id;
    this.target = options.target;
    this.profile = options.profile;
    this.principal = options.principal ?? anonymous;
    this.protocolVersion = options.protocolVersion;
    this.description = new ClientDescription(options.clientInfo, options.capabilities);
    this.#replays = options.replays;
    this.#onParting = options.onParting;
  }

  /** A session is of the legacy era, and more than a listener: it has connections of its own where the server is isolated. */
  readonly era = 'legacy';
  readonly isListener = false;

  get clientInfo(): unknown {
    return this.description.clientInfo;
  }

  get capabilities(): Readonly<Record<string, unknown>> {
    return this.description.capabilities;
  }

  get label(): string {
    return this.id.slice(0, 8);
  }

  get hasOpenStream(): boolean {
    return this.stream?.isConnected === true;
  }

  belongsTo(server: string): boolean {
    return this.target === server;
  }

  /** Whether a request of it is under way at that server. */
  isAt(server: string): boolean {
    for (const exchange of this.#exchanges ?? []) if (exchange.server === server) return true;
    return false;
  }

  /** PFL2 */
  #hears(server: string): boolean {
    return this.profile === undefined || this.profile.has(server) || this.isAt(server);
  }

  get inFlight(): number {
    return this.#exchanges?.size ?? 0;
  }

  get isInUse(): boolean {
    return this.hasOpenStream || this.inFlight > 0;
  }

  /** What was sent on the session's streams, for clients that lost one. */
  get replay(): ReplayRing {
    this.#replay ??= new ReplayRing(this.#replays, this.isEnded ? 0 : undefined);
    return this.#replay;
  }

  get hasReplay(): boolean {
    return this.#replay !== undefined;
  }

  begin(exchange: ClientExchange): void {
    this.#exchanges ??= new LinkedList();
    this.#exchanges.add(exchange);
    this.lastSeenAt = performance.now();
  }

  finish(exchange: ClientExchange): void {
    this.#exchanges?.delete(exchange);
    this.lastSeenAt = performance.now();
  }

  /** Cancels the newest request of that id; an unknown one is ignored, as the specification asks. */
  cancel(rawId: string, reason?: string): void {
    const matching = [...(this.#exchanges ?? [])].filter((exchange) => exchange.rawId === rawId);
    matching.at(-1)?.cancel(reason);
  }

  /** The client answers a server's question. */
  onClientAnswer(envelope: Envelope): void {
    this.#asked?.answer(envelope);
  }

  onClientProgress(envelope: Envelope): void {
    this.#asked?.progress(envelope);
  }

  onServerRequest(connection: ServerPeer, envelope: Envelope, call: RelayingCall | undefined): void {
    if (!this.#hears(connection.server)) {
      refuseServerRequest(connection, envelope);
      return;
    }
    this.#asked ??= new PendingServerRequests();
    const question = this.#asked.ask(connection, envelope);
    if (question === undefined || this.#deliver(question.message, connection, call, false)) return;
    this.#asked.withdraw(question.id, 'the client has no open stream to be asked on');
  }

  /**
   * Asks the client on the stream of one of its own requests; `rawParams` is raw JSON. Exactly one of the two is called
   * back, unless the question is taken back by what is returned. The client is told of a question that is over.
   */
  pose(
    exchange: ClientExchange,
    question: { readonly method: string; readonly rawParams: string | undefined },
    onAnswer: (answer: Envelope) => void,
    onRefused: (why: string) => void,
  ): (why: string) => void {
    this.#asked ??= new PendingServerRequests();
    const asked = this.#asked;
    // Undefined until the client has been asked: the question may be refused at once.
    let id: number | undefined;
    const over = (reason: string) => {
      if (id !== undefined)
        exchange.relay(notificationMessage('notifications/cancelled', { requestId: id, reason }));
    };
    const posed = asked.pose(question.method, question.rawParams, onAnswer, (why) => {
      over(why);
      onRefused(why);
    });
    if (posed === undefined) return () => {};
    id = posed.id;
    exchange.relay(posed.message);
    return (why) => {
      asked.forget(posed.id);
      over(why);
    };
  }

  onServerNotification(connection: ServerPeer, envelope: Envelope, call: RelayingCall | undefined): void {
    if (!this.#hears(connection.server)) return;
    let message = envelope.bytes;
    if (envelope.method === 'notifications/cancelled') {
      const requestId = envelope.param('requestId');
      const id = requestId && this.#asked?.idOf(connection, rawOf(envelope.bytes, requestId));
      if (requestId === undefined || id === undefined) return;
      this.#asked?.forget(id);
      message = whole(applyEdits(envelope.bytes, [replacing(requestId, String(id))]));
    }
    this.#deliver(message, connection, call, sessionNotices.test(envelope.method));
  }

  onConnectionEnd(server: string, why: ConnectionEnd, error: GatewayError): void {
    if (!this.isEnded) this.#onParting(this, server, why, error);
  }

  /** A notice of the gateway's own. */
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
      exchange.fail(new SessionGoneError(`the session has ended: ${why}`));
      exchange.call?.cancel();
    }
    this.#asked?.withdrawAll(why);
    this.closeStream();
    this.#replay?.clear();
    this.#replay = undefined;
  }

  /** M1: one stream, the one that most likely belongs to what caused the message. */
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
    const here = [...(this.#exchanges ?? [])].filter((exchange) => exchange.call?.connection === connection);
    const [oldest] = here;
    if (this.stream !== undefined && (prefersStream || here.length !== 1)) {
      this.stream.send(message);
      return true;
    }
    oldest?.relay(message);
    return oldest !== undefined;
  }
}
