// One MCP connection with a server, over one link: an initialised session, or in the modern era just the link. Many
// clients' calls share it; each keeps its own id and its own progress token, because both are replaced on the way there
// and restored on the way back.
//
// N1  ids on the link are our own, counted up, never used twice: equal ids of different calls cannot meet.
// N2  a progress token on the link is the call's id; a client's own token returns in every notification.
// N3  an answer to an unknown id (late, doubled, invented) reaches nobody.
// N4  when the link ends, every call on it ends (A2).

import {
  ConnectionLostError,
  GatewayError,
  InternalError,
  MessageTooLargeError,
  UpstreamProtocolError,
} from '../../../base/errors/errors.ts';
import { applyEdits, renumbered } from '../../jsonrpc/apply-edits.ts';
import { errorMessage, notificationMessage, resultMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { LargeMessage } from '../../jsonrpc/large-message.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { rpcCodes, TooDeepFault } from '../../jsonrpc/rpc-fault.ts';
import { rawOf, replacing, whole } from '../../jsonrpc/span.ts';
import type { CallId, Link, LinkEvents } from '../../links/link.ts';
import { readDescription, readDiscovery, type ServerDescription } from '../cache/server-description.ts';
import type { Call, Exchange } from '../calls/call.ts';
import { CallTable } from '../calls/call-table.ts';
import { gatewayCall } from '../calls/gateway-call.ts';
import { requestable } from '../notifications/server-request.ts';

export interface ConnectionEvents {
  onRequest(connection: Connection, envelope: Envelope, call: Call | undefined): void;
  onNotification(connection: Connection, envelope: Envelope, call: Call | undefined): void;
  /** The call was certainly not carried out: it may be sent once more. */
  onUndelivered(connection: Connection, call: Call, error: GatewayError): void;
  /**
   * The server refused a `tools/call` because its headers are not what its schema asks for (−32020); the call is off the
   * connection. Without this the refusal is the answer.
   */
  readonly onHeaderMismatch?: (connection: Connection, call: Call) => void;
  /** Changes an error answer before anybody reads it. Without this it stays as it came. */
  readonly onErrorAnswer?: ((answer: Envelope) => Envelope) | undefined;
  /** A line was not a message. */
  onNoise(connection: Connection, what: string): void;
  onEnd(connection: Connection, error: GatewayError): void;
}

export interface Introduction {
  readonly protocolVersion: string;
  readonly clientInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

export class Connection {
  readonly server: string;
  readonly era: Era;
  readonly link: Link;
  /** What the server said of itself at `initialize` or `server/discover`. */
  description: ServerDescription | undefined;
  /** When the server last sent anything, in performance.now() milliseconds. */
  lastHeardAt = performance.now();
  isEnded = false;
  /** Why it has ended, or is ending. */
  endError: GatewayError | undefined;

  readonly #events: ConnectionEvents;
  readonly #calls = new CallTable<Call>();
  #introduction: Introduction | undefined;

  constructor(
    server: string,
    era: Era,
    makeLink: (events: LinkEvents, era: Era) => Link,
    events: ConnectionEvents,
  ) {
    this.server = server;
    this.era = era;
    this.#events = events;
    const linkEvents: LinkEvents = {
      onMessage: (bytes, call) => this.#onMessage(bytes, call),
      onLargeAnswer: (answer) => {
        this.lastHeardAt = performance.now();
        this.#onAnswer(answer);
      },
      onOversized: (size, id, requestId, call) => this.#onOversized(size, id, requestId, call),
      onUndelivered: (call, error, wasCarriedOut) => this.#onUndelivered(call, error, wasCarriedOut),
      onEnd: (error) => this.#onEnd(error),
    };
    this.link = makeLink(linkEvents, era);
  }

  /** Calls in flight, the gateway's own (lists, pings) included. */
  get inFlight(): number {
    return this.#calls.size;
  }

  /** What the server was told its client can be asked. */
  get offered(): readonly string[] {
    return requestable(this.#introduction?.capabilities ?? {});
  }

  /** The calls in flight, oldest first. */
  calls(): readonly Call[] {
    return this.#calls.all();
  }

  /** Opens the link and initialises the session. Rejects with the reason; the caller then closes the connection. */
  async introduce(introduction: Introduction, timeoutMs: number): Promise<ServerDescription> {
    const deadline = performance.now() + timeoutMs;
    this.#introduction = introduction;
    await this.link.open();
    const leftMs = Math.max(1, deadline - performance.now());
    if (this.era === 'modern') {
      this.description = readDiscovery(this.server, await this.request('server/discover', undefined, leftMs));
      this.link.ready(this.description.protocolVersion);
      return this.description;
    }
    this.description = readDescription(this.server, await this.request('initialize', introduction, leftMs));
    this.link.ready(this.description.protocolVersion);
    this.notify('notifications/initialized');
    return this.description;
  }

  /** Pings the server; any answer counts. */
  async ping(timeoutMs: number): Promise<void> {
    await this.request(this.era === 'modern' ? 'server/discover' : 'ping', undefined, timeoutMs);
  }

  /** Sends a call. It must not be done, and the connection must not have ended. */
  send(call: Call): void {
    this.#calls.add(call);
    let message: Buffer;
    try {
      message = renumbered(call.envelope, String(call.id), call.edits);
    } catch (error) {
      // The server has not received the call.
      this.#calls.delete(call.id);
      call.fail(
        error instanceof GatewayError ? error : new InternalError('could not write a call', { cause: error }),
      );
      return;
    }
    call.connection = this;
    call.attempts += 1;
    this.link.send(message, call.id, call.trace);
  }

  /** A request of the gateway's own. Rejects with a GatewayError; an error answer resolves. */
  request(method: string, params: object | undefined, timeoutMs: number): Promise<Envelope> {
    return new Promise((resolve, reject) => {
      if (this.isEnded) {
        reject(new ConnectionLostError(`the connection to server ${this.server} has ended`));
        return;
      }
      const exchange = { answer: resolve, fail: reject, relay: () => {}, drop: () => {} };
      this.#sendOwn(method, params, timeoutMs, exchange);
    });
  }

  /** Opens a `subscriptions/listen`, which has no deadline; `onEnded` when it is over, but not by `cancel`. */
  listen(notifications: Record<string, unknown>, onEnded: (isRefused: boolean) => void): Call {
    return this.#sendOwn('subscriptions/listen', { notifications }, Number.POSITIVE_INFINITY, {
      answer: (answer) => onEnded(answer.error !== undefined),
      fail: () => onEnded(false),
      relay: () => {},
      drop: () => {},
    });
  }

  #sendOwn(method: string, params: object | undefined, timeoutMs: number, exchange: Exchange): Call {
    const { server, era } = this;
    const clientInfo = this.#introduction?.clientInfo;
    const call = gatewayCall({ server, era, clientInfo, method, params, timeoutMs }, exchange);
    this.send(call);
    return call;
  }

  notify(method: string, params?: unknown): void {
    this.sendRaw(notificationMessage(method, params));
  }

  /** Sends a message that is complete: an answer to the server, or a client's notification. */
  sendRaw(message: Buffer): void {
    if (!this.isEnded) this.link.send(message);
  }

  /** Nobody waits for the call any more: the server is told, a late answer reaches nobody. */
  abandon(call: Call, reason: string): void {
    if (!this.#calls.delete(call.id)) return;
    // The handshake must not be cancelled (lifecycle, cancellation); whoever gives it up closes the link.
    if (call.envelope.method !== 'initialize')
      this.notify('notifications/cancelled', { requestId: call.id, reason });
    this.link.forget(call.id);
  }

  /** Ends every call on the connection with the same error. */
  failAll(error: GatewayError): void {
    const calls = this.#calls.all();
    this.#calls.clear();
    for (const call of calls) call.fail(error);
  }

  /** Ends the connection at once for a reason of ours: every call is told that reason, and not how the link ended. */
  kill(reason: GatewayError): void {
    this.endError ??= reason;
    this.failAll(reason);
    this.link.kill();
  }

  #onMessage(bytes: Buffer, callId: CallId | undefined): void {
    this.lastHeardAt = performance.now();
    let envelope: Envelope;
    try {
      envelope = readServerMessage(bytes);
    } catch (error) {
      this.#events.onNoise(this, (error as Error).message);
      if (error instanceof TooDeepFault) this.#onTooDeep(bytes, error);
      return;
    }
    if (envelope.kind === 'answer') {
      this.#onAnswer(envelope);
    } else if (envelope.kind === 'notification') {
      this.#onNotification(envelope, callId);
    } else if (envelope.method === 'ping') {
      this.sendRaw(resultMessage(envelope.rawId, {}));
    } else {
      this.#events.onRequest(this, envelope, this.#linked(callId));
    }
  }

  #onAnswer(answer: Envelope): void {
    const call = this.#calls.get(answer.numericId);
    if (call === undefined) return;
    this.#calls.delete(call.id);
    const { onHeaderMismatch, onErrorAnswer } = this.#events;
    if (onHeaderMismatch !== undefined && missedHeaders(call, answer)) onHeaderMismatch(this, call);
    else if (answer.error === undefined || onErrorAnswer === undefined) call.answer(answer);
    else call.answer(onErrorAnswer(answer));
  }

  #onNotification(envelope: Envelope, callId: CallId | undefined): void {
    if (envelope.method !== 'notifications/progress') {
      this.#events.onNotification(this, envelope, this.#linked(callId));
      return;
    }
    const token = envelope.param('progressToken');
    if (token === undefined) return;
    const id = Number(rawOf(envelope.bytes, token));
    const call = this.#calls.get(id) ?? this.#calls.all().find(({ continues }) => continues?.id === id);
    const asked = (call?.continues ?? call)?.envelope;
    if (call === undefined || asked?.askedToken === undefined) return;
    call.touch();
    const text = rawOf(asked.bytes, asked.askedToken);
    call.relay(whole(applyEdits(envelope.bytes, [replacing(token, text)])));
  }

  #linked(callId: CallId | undefined): Call | undefined {
    return callId === undefined ? undefined : this.#calls.get(callId);
  }

  /** Nobody has read it, but whoever waits for it, or for an answer to it, must not wait for a deadline. */
  #onOversized(
    size: number,
    rawId: string | undefined,
    requestId: string | undefined,
    callId: CallId | undefined,
  ): void {
    const id = rawId === undefined ? callId : Number(rawId);
    const call = id === undefined || requestId !== undefined ? undefined : this.#calls.get(id);
    if (call === undefined) {
      const what = `a message of ${size} bytes is over limits.message_bytes`;
      this.#events.onNoise(this, what);
      if (requestId !== undefined) this.sendRaw(errorMessage(requestId, rpcCodes.invalidRequest, what));
      return;
    }
    const what = `larger than limits.message_bytes (${size} bytes or more); ask for less, or raise the limit`;
    this.#failUnread(call, new MessageTooLargeError(`${this.#answerTo(call)} is ${what}`));
  }

  /** As `#onOversized`. */
  #onTooDeep(bytes: Buffer, fault: TooDeepFault): void {
    const message = new LargeMessage();
    message.feed(bytes);
    if (message.requestId !== undefined)
      this.sendRaw(errorMessage(message.requestId, fault.code, fault.message));
    const call = message.id === undefined ? undefined : this.#calls.get(Number(message.id));
    if (call === undefined) return;
    const what = `${fault.message}; nothing deeper is passed on, so the server has to answer flatter`;
    this.#failUnread(call, new UpstreamProtocolError(`${this.#answerTo(call)} is ${what}`));
  }

  #answerTo({ envelope }: Call): string {
    return `the answer of server ${this.server} to ${envelope.method}`;
  }

  #failUnread(call: Call, error: GatewayError): void {
    this.#calls.delete(call.id);
    this.link.forget(call.id);
    call.fail(error);
  }

  #onUndelivered(callId: CallId, error: GatewayError, wasCarriedOut: boolean): void {
    const call = this.#calls.get(callId);
    if (call === undefined) return;
    this.#calls.delete(callId);
    if (!wasCarriedOut) call.connection = undefined;
    // The gateway's own requests are on no member: they concern this very connection, and no other can answer them.
    if (wasCarriedOut || call.attempts > 1 || call.member === undefined) call.fail(error);
    else this.#events.onUndelivered(this, call, error);
  }

  #onEnd(error: GatewayError): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.endError ??= error;
    this.failAll(this.endError);
    this.#events.onEnd(this, this.endError);
  }
}

/** Whether a call was refused for its headers, and is not yet the second try. */
function missedHeaders({ envelope, attempts, member }: Call, answer: Envelope): boolean {
  if (answer.error === undefined || envelope.method !== 'tools/call') return false;
  const { code } = (answer.parse(answer.error) ?? {}) as { code?: unknown };
  return code === rpcCodes.headerMismatch && attempts === 1 && member !== undefined;
}
