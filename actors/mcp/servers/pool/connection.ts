// One MCP connection to a server over a link (links/link.ts). Calls of many clients share the connection, so
// request ids and progress tokens are replaced by ids of the gateway on the way to the server, and restored
// on the way back. These ids increase and are never reused; a response with an unknown id is dropped. When
// the link closes, all calls on it fail (A2, ARCHITECTURE.md).

import {
  ConnectionLostError,
  GatewayError,
  InternalError,
  MessageTooLargeError,
  UpstreamProtocolError,
} from '../../../base/errors/errors.ts';
import { applyEdits, renumber } from '../../jsonrpc/apply-edits.ts';
import { errorMessage, notificationMessage, resultMessage } from '../../jsonrpc/compose.ts';
import { type Envelope, idNumber } from '../../jsonrpc/envelope.ts';
import { looseIdOf } from '../../jsonrpc/loose-id.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { RpcFault, rpcCodes, TooDeepFault } from '../../jsonrpc/rpc-fault.ts';
import { rawOf, replaceSpan, toBuffer } from '../../jsonrpc/span.ts';
import type { CallId, Link, LinkEvents } from '../../links/link.ts';
import { readDescription, readDiscovery, type ServerDescription } from '../cache/introduction.ts';
import type { Call, CallExchange } from '../calls/call.ts';
import { gatewayCall } from '../calls/gateway-call.ts';
import type { RelayingCall } from '../calls/owner.ts';
import { CallTable } from '../calls/table.ts';
import { listingCapabilities } from '../lists/listing-capabilities.ts';

export interface ConnectionEvents {
  onRequest(connection: Connection, envelope: Envelope, call: Call | undefined): void;
  onNotification(connection: Connection, envelope: Envelope, call: Call | undefined): void;
  /** The call was certainly not executed and may be retried. */
  onUndelivered(connection: Connection, call: Call, error: GatewayError): void;
  /**
   * The server rejected a `tools/call` because headers that the tool's schema requires are missing (−32020).
   * The call is no longer on this connection. If the handler is absent, the client receives the rejection.
   */
  readonly onHeaderMismatch?: (connection: Connection, call: Call) => void;
  /** Changes an error response before it is forwarded, for example to redact it. */
  readonly onErrorAnswer?: ((answer: Envelope) => Envelope) | undefined;
  /** Received data was not a message. */
  onNoise(connection: Connection, reason: string): void;
  onEnd(connection: Connection, error: GatewayError): void;
}

/** Identity that the gateway sends in the handshake. */
export interface Introduction {
  readonly protocolVersion: string;
  readonly clientInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

export class Connection {
  readonly server: string;
  /** Protocol era: `legacy` (sessions) or `modern` (stateless requests). */
  readonly era: Era;
  readonly link: Link;
  /** Description of the server, from `initialize` or `server/discover`. */
  description: ServerDescription | undefined;
  /** performance.now() of the last message of the server. */
  lastMessageAt = performance.now();
  isEnded = false;
  /** Reason why the connection closes or has closed. */
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
        this.lastMessageAt = performance.now();
        this.#onAnswer(answer);
      },
      onOversized: (size, id, requestId, call) => this.#onOversized(size, id, requestId, call),
      onUndelivered: (call, error, mayHaveRun) => this.#onUndelivered(call, error, mayHaveRun),
      onEnd: (error) => this.#onEnd(error),
    };
    this.link = makeLink(linkEvents, era);
  }

  /** Number of calls in flight, including requests of the gateway (lists, pings). */
  get inFlight(): number {
    return this.#calls.size;
  }

  /** Client capabilities declared to the server on which its lists may depend. */
  get offered(): readonly string[] {
    return listingCapabilities(this.#introduction?.capabilities ?? {});
  }

  /** Calls in flight, oldest first. */
  calls(): readonly Call[] {
    return this.#calls.all();
  }

  /**
   * Opens the link and performs the handshake. Rejects with the cause; the caller then closes the connection.
   */
  async introduce(introduction: Introduction, timeoutMs: number): Promise<ServerDescription> {
    const deadline = performance.now() + timeoutMs;
    this.#introduction = introduction;
    await this.link.open();
    const remainingMs = Math.max(1, deadline - performance.now());
    if (this.era === 'modern') {
      this.description = readDiscovery(
        this.server,
        await this.request('server/discover', undefined, remainingMs),
      );
      this.link.ready(this.description.protocolVersion);
      return this.description;
    }
    this.description = readDescription(
      this.server,
      await this.request('initialize', introduction, remainingMs),
    );
    this.link.ready(this.description.protocolVersion);
    this.notify('notifications/initialized');
    return this.description;
  }

  /** Pings the server; any response counts. */
  async ping(timeoutMs: number): Promise<void> {
    const method = this.era === 'modern' ? 'server/discover' : 'ping';
    const response = this.request(method, undefined, timeoutMs);
    this.link.notePing?.();
    await response;
  }

  /** Sends a call. The call must be unfinished and the connection open. */
  send(call: Call): void {
    this.#calls.add(call);
    let message: Buffer;
    try {
      message = renumber(call.envelope, String(call.id), call.edits);
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

  /**
   * Sends a request of the gateway. An error response resolves; other failures reject with a GatewayError.
   * `capabilities` are client capabilities for a modern server; by default none.
   */
  request(
    method: string,
    params: object | undefined,
    timeoutMs: number,
    capabilities?: object | undefined,
  ): Promise<Envelope> {
    return new Promise((resolve, reject) => {
      if (this.isEnded) {
        reject(new ConnectionLostError(`the connection to server ${this.server} has ended`));
        return;
      }
      const exchange = { answer: resolve, fail: reject, relay: () => {}, drop: () => {} };
      this.#sendOwn(method, params, timeoutMs, exchange, capabilities);
    });
  }

  /**
   * Opens a `subscriptions/listen` without deadline. Calls `onEnded` when it closes, except after `cancel`.
   */
  listen(notifications: Record<string, unknown>, onEnded: (isRefused: boolean) => void): Call {
    return this.#sendOwn('subscriptions/listen', { notifications }, Number.POSITIVE_INFINITY, {
      answer: (answer) => onEnded(answer.error !== undefined),
      fail: () => onEnded(false),
      relay: () => {},
      drop: () => {},
    });
  }

  #sendOwn(
    method: string,
    params: object | undefined,
    timeoutMs: number,
    exchange: CallExchange,
    capabilities?: object | undefined,
  ): Call {
    const { server, era } = this;
    const clientInfo = this.#introduction?.clientInfo;
    const request = { server, era, clientInfo, capabilities, method, params, timeoutMs };
    const call = gatewayCall(request, exchange);
    this.send(call);
    return call;
  }

  notify(method: string, params?: unknown): void {
    this.sendRaw(notificationMessage(method, params));
  }

  /** Sends a complete message: a response to the server, or a client's notification. */
  sendRaw(message: Buffer): void {
    if (!this.isEnded) this.link.send(message);
  }

  /**
   * Pauses limits while a client answers a question. Without `call` the question may belong to any of the
   * clients' calls. Calls that start later are not paused.
   */
  pause(key: object, call: RelayingCall | undefined): void {
    // Calls of clients have a pool member, requests of the gateway itself have none.
    for (const each of this.#calls.all())
      if (each.member !== undefined && (call === undefined || each === call)) each.pause(key);
  }

  /** Ends the pause. A call that continues a paused one (`continues`, call.ts) is resumed too. */
  resume(key: object): void {
    for (const call of this.#calls.all()) call.resume(key);
  }

  /** Cancels the call at the server. A late response is dropped. */
  abandon(call: Call, reason: string): void {
    if (!this.#calls.delete(call.id)) return;
    // The specification forbids cancelling `initialize`; the caller closes the link instead.
    if (call.envelope.method !== 'initialize')
      this.notify('notifications/cancelled', { requestId: call.id, reason });
    this.link.forget(call.id);
  }

  /** Fails all calls on the connection. */
  failAll(error: GatewayError): void {
    const calls = this.#calls.all();
    this.#calls.clear();
    for (const call of calls) call.fail(error);
  }

  /** Kills the connection. Its calls fail with this reason, not with an error of the link. */
  kill(reason: GatewayError): void {
    this.endError ??= reason;
    this.failAll(reason);
    this.link.kill();
  }

  #onMessage(bytes: Buffer, callId: CallId | undefined): void {
    this.lastMessageAt = performance.now();
    let envelope: Envelope;
    try {
      envelope = readServerMessage(bytes);
    } catch (error) {
      this.#events.onNoise(this, (error as Error).message);
      if (error instanceof RpcFault) this.#onUnreadable(bytes, error);
      return;
    }
    if (envelope.kind === 'answer') {
      this.#onAnswer(envelope);
    } else if (envelope.kind === 'notification') {
      this.#onNotification(envelope, callId);
    } else if (envelope.method === 'ping') {
      this.sendRaw(resultMessage(envelope.rawId, {}));
    } else {
      this.#events.onRequest(this, envelope, this.#callById(callId));
    }
  }

  #onAnswer(answer: Envelope): void {
    const call = this.#calls.get(answer.numericId);
    if (call === undefined) return;
    this.#calls.delete(call.id);
    const { onHeaderMismatch, onErrorAnswer } = this.#events;
    if (onHeaderMismatch !== undefined && isHeaderMismatch(call, answer)) onHeaderMismatch(this, call);
    else if (answer.error === undefined || onErrorAnswer === undefined) call.answer(answer);
    else call.answer(onErrorAnswer(answer));
  }

  #onNotification(envelope: Envelope, callId: CallId | undefined): void {
    if (envelope.method !== 'notifications/progress') {
      this.#events.onNotification(this, envelope, this.#callById(callId));
      return;
    }
    const token = envelope.param('progressToken');
    if (token === undefined) return;
    // Progress of a task has the token of the call that created the task; `continues` refers to that call.
    const id = Number(rawOf(envelope.bytes, token));
    const call = this.#calls.get(id) ?? this.#calls.all().find(({ continues }) => continues?.id === id);
    const request = (call?.continues ?? call)?.envelope;
    if (call === undefined || request?.progressToken === undefined) return;
    call.touch();
    const text = rawOf(request.bytes, request.progressToken);
    call.relay(toBuffer(applyEdits(envelope.bytes, [replaceSpan(token, text)])));
  }

  #callById(callId: CallId | undefined): Call | undefined {
    return callId === undefined ? undefined : this.#calls.get(callId);
  }

  /** Fails the call whose response is too large, instead of waiting for its deadline. */
  #onOversized(
    size: number,
    rawId: string | undefined,
    requestId: string | undefined,
    callId: CallId | undefined,
  ): void {
    const id = rawId === undefined ? callId : idNumber(rawId);
    const call = id === undefined || requestId !== undefined ? undefined : this.#calls.get(id);
    if (call === undefined) {
      const reason = `a message of ${size} bytes is over limits.message_bytes`;
      this.#events.onNoise(this, reason);
      if (requestId !== undefined) this.sendRaw(errorMessage(requestId, rpcCodes.invalidRequest, reason));
      return;
    }
    const reason = `larger than limits.message_bytes (${size} bytes or more); request less, or raise the limit`;
    this.#failUnread(call, new MessageTooLargeError(`${this.#describeResponse(call)} is ${reason}`));
  }

  /** Fails the call of an invalid response: the deadline would be too late. */
  #onUnreadable(bytes: Buffer, fault: RpcFault): void {
    const { rawId, kind } = looseIdOf(bytes);
    if (rawId === undefined || kind === 'other') return;
    if (kind === 'request') {
      this.sendRaw(errorMessage(rawId, fault.code, fault.message));
      return;
    }
    const call = this.#calls.get(idNumber(rawId));
    if (call === undefined) return;
    this.#failUnread(
      call,
      new UpstreamProtocolError(`${this.#describeResponse(call)} is ${reasonOf(fault)}`),
    );
  }

  #describeResponse({ envelope }: Call): string {
    return `the response of server ${this.server} to ${envelope.method}`;
  }

  /** Fails a call whose response could not be read. */
  #failUnread(call: Call, error: GatewayError): void {
    this.#calls.delete(call.id);
    this.link.forget(call.id);
    call.fail(error);
  }

  #onUndelivered(callId: CallId, error: GatewayError, mayHaveRun: boolean): void {
    const call = this.#calls.get(callId);
    if (call === undefined) return;
    this.#calls.delete(callId);
    if (!mayHaveRun) {
      call.connection = undefined;
      // The server cannot have asked the client a question for this call.
      call.resume();
    }
    // A server that requests a pause must not receive the call again immediately.
    const mustPause = error instanceof UpstreamProtocolError && error.requestedPauseMs !== undefined;
    // Requests of the gateway itself are not retried; they have no member.
    if (mayHaveRun || mustPause || call.attempts > 1 || call.member === undefined) call.fail(error);
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

/** Returns the response's fault with the remedy. */
function reasonOf(fault: RpcFault): string {
  if (fault instanceof TooDeepFault)
    return `${fault.message}; the server must return less deeply nested data`;
  if (fault.code === rpcCodes.parseError) return `${fault.message}; the server must return valid JSON`;
  return `not valid JSON-RPC: ${fault.message}`;
}

/** Returns true if the first attempt of the call was rejected because of missing headers. */
function isHeaderMismatch({ envelope, attempts, member }: Call, answer: Envelope): boolean {
  if (answer.error === undefined || envelope.method !== 'tools/call') return false;
  const { code } = (answer.parse(answer.error) ?? {}) as { code?: unknown };
  return code === rpcCodes.headerMismatch && attempts === 1 && member !== undefined;
}
