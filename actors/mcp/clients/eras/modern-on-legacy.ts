// Serves one request of a modern client (stateless, 2026-07-28) at a legacy server (sessions). A legacy
// server may send requests ("questions") during a call. A modern client receives them as a result, and
// answers with a new request (the retry). Meanwhile the call is suspended: it stays open at the server, and
// its messages are stored, up to MAX_STORED and MAX_STORED_BYTES (A8, ARCHITECTURE.md). Each client request
// gets one response: input requests or the result (A2).

import { type GatewayError, OverloadedError, StoppedError } from '../../../base/errors/errors.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { legacyEdits } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { concatEdits, type Edit, rawJson, rawOf, replaceSpan, sizeOf, toBuffer } from '../../jsonrpc/span.ts';
import type { CallConnection, CallExchange } from '../../servers/calls/call.ts';
import type { ClientShares } from '../../servers/calls/client-shares.ts';
import type { ServerPeer } from '../../servers/calls/owner.ts';
import { listingCapabilities } from '../../servers/lists/listing-capabilities.ts';
import { refuseServerRequest } from '../../servers/notifications/server-request.ts';
import { type LogLevel, Subscriptions } from '../../servers/notifications/subscriptions.ts';
import type { Cancellable, ClientExchange } from '../exchange.ts';
import type { ClientRequest, RoutedRequest } from '../routed-request.ts';
import { callServer } from '../tasks/call.ts';
import { taskChanges } from '../tasks/hidden-tasks.ts';
import type { ServerCall } from '../tasks/server-call.ts';
import type { ExclusiveConnection, ExclusiveConnections, ExclusiveUser } from './exclusive-connection.ts';
import { isDeclared } from './legacy-on-modern.ts';
import type { ModernCaller } from './modern-caller.ts';
import { OpenQuestions } from './open-questions.ts';
import { resultMetadataOf } from './result-metadata.ts';
import { requestDigest, type Suspendable, type SuspendedCalls } from './suspended-calls.ts';
import { urlsRequired } from './url-elicitation.ts';

/**
 * Time to collect server requests into one result, in milliseconds. Servers send several requests one by one.
 */
const GATHER_MS = 5;

/** Limits of the messages stored for a suspended call. */
const MAX_STORED = 256;
const MAX_STORED_BYTES = 4 * 1024 * 1024;

/** Methods whose result may request input (2026-07-28, "Multi Round-Trip Requests"). */
const interactive = /^(tools\/call|prompts\/get|resources\/read)$/;

/** Methods whose result has a cache hint (2026-07-28, "Caching"). */
const cacheable = /^(tools\/list|prompts\/list|resources\/list|resources\/templates\/list|resources\/read)$/;

export class ModernOnLegacy implements CallExchange, Cancellable, ExclusiveUser, Suspendable {
  readonly server: string;
  suspendedAt: number | undefined;
  readonly #route: RoutedRequest;
  readonly #caller: ModernCaller;
  readonly #suspendedCalls: SuspendedCalls;
  readonly #exclusives: ExclusiveConnections;
  /** Server requests that the client has not answered. Undefined until the first one. */
  #questions: OpenQuestions | undefined;
  #digest: string | undefined;
  #exclusive: ExclusiveConnection | undefined;
  #call: ServerCall | undefined;
  /** The client's request that awaits a response; undefined while the call is suspended. */
  #exchange: ClientExchange | undefined;
  /** The client's latest request: the first one or a retry. */
  #latestRequest: Envelope;
  #suspendTimer: NodeJS.Timeout | undefined;
  /** Messages received while suspended. */
  #stored: Buffer[] | undefined;
  #storedBytes = 0;
  /**
   * Sends the final response to the retry. Set if the call completes while suspended: with the response, or
   * with an error if another request took its connection (exclusive-connection.ts).
   */
  #sendFinalResponse: ((exchange: ClientExchange) => void) | undefined;

  constructor(
    route: RoutedRequest,
    caller: ModernCaller,
    suspendedCalls: SuspendedCalls,
    exclusives: ExclusiveConnections,
  ) {
    this.server = route.server.id;
    this.#route = route;
    this.#caller = caller;
    this.#suspendedCalls = suspendedCalls;
    this.#exclusives = exclusives;
    this.#exchange = route.exchange;
    this.#latestRequest = route.envelope;
  }

  get connection(): CallConnection | undefined {
    return this.#call?.connection;
  }

  get client(): ClientShares | undefined {
    return this.#route.exchange.client;
  }

  get bytes(): number {
    return this.#route.envelope.bytes.length;
  }

  get digest(): string {
    this.#digest ??= requestDigest(this.#route.envelope, this.#caller.principal);
    return this.#digest;
  }

  /** Sends the call, on an exclusive connection if necessary. */
  send(): void {
    const { envelope, trace } = this.#route;
    const { client } = this;
    if (this.#needsExclusive) this.#exclusive = this.#exclusives.take(this.#caller, this);
    const owner = this.#exclusive;
    const edits = concatEdits(this.#route.edits, legacyEdits(envelope, taskChanges(this.#route)));
    const request = { envelope, edits, exchange: this, owner, client, era: 'legacy', trace } as const;
    this.#call = callServer(this.#route, request);
  }

  answer(envelope: Envelope): void {
    // Without an exchange the call is suspended, and the response is stored until the retry.
    if (this.#exchange === undefined && !this.#suspendedCalls.reserve(this, sizeOf(envelope.message))) {
      this.fail(
        new OverloadedError(
          'the response arrived while the call was suspended and exceeds the budget of suspended calls; send the request again',
        ),
      );
      return;
    }
    // The error that requires a URL elicitation becomes a result for the modern client.
    const urlResult = envelope.error && urlsRequired(envelope, this.#caller.capabilities);
    this.#finish((exchange) => {
      if (urlResult !== undefined) {
        exchange.resultText(urlResult);
        return;
      }
      const { rewrite } = exchange;
      exchange.rewrite = (answer) => concatEdits(rewrite?.(answer), this.#resultEdits(answer, exchange));
      exchange.answer(envelope);
    }, false);
  }

  relay(message: Buffer): void {
    const exchange = this.#exchange;
    if (exchange !== undefined) this.#relayTo(exchange, message);
    else {
      this.#stored ??= [];
      if (this.#stored.length >= MAX_STORED || this.#storedBytes + message.length > MAX_STORED_BYTES) return;
      if (!this.#suspendedCalls.reserve(this, message.length)) return;
      this.#stored.push(message);
      this.#storedBytes += message.length;
    }
  }

  fail(error: GatewayError, isUnsent?: boolean): void {
    this.#finish((exchange) => exchange.fail(error, isUnsent), true);
  }

  drop(): void {
    this.#finish((exchange) => exchange.drop(), true);
  }

  cancel(reason?: string): void {
    this.#call?.cancel(reason);
  }

  /** Called when the suspension has lasted too long, or makes room for another one. */
  expire(): void {
    this.#call?.cancel('the client did not provide the requested input');
  }

  yieldConnection(error: GatewayError): void {
    if (this.suspendedAt === undefined) return;
    // The value is cleared before `fail`, which may start queued calls. They also search for connections to
    // close, and must not find this one.
    this.suspendedAt = undefined;
    this.#stored = undefined;
    this.#call?.fail(error);
  }

  onServerRequest(connection: ServerPeer, envelope: Envelope): void {
    if (!isDeclared(envelope.method, this.#caller)) {
      refuseServerRequest(connection, envelope);
      return;
    }
    this.#questions ??= new OpenQuestions();
    if (this.#questions.add(connection, envelope)) this.#scheduleSuspension();
  }

  onServerNotification(connection: ServerPeer, envelope: Envelope): void {
    const { method, bytes } = envelope;
    if (method === 'notifications/cancelled') {
      const requestId = envelope.param('requestId');
      if (requestId !== undefined) this.#questions?.withdraw(connection, rawOf(bytes, requestId));
    } else if (method === 'notifications/message') {
      const { logLevel } = this.#caller;
      if (logLevel !== undefined && isAtLeast(envelope, logLevel)) this.relay(bytes);
    }
  }

  /** Continues a suspended call with the client's retry, which answers some or all server requests. */
  resume({ envelope, exchange }: ClientRequest): void {
    this.#exchange = exchange;
    this.#latestRequest = envelope;
    this.suspendedAt = undefined;
    exchange.server = this.server;
    exchange.call = this;
    // The call has completed meanwhile.
    if (this.#sendFinalResponse !== undefined) {
      const sendFinalResponse = this.#sendFinalResponse;
      this.#relayStored();
      sendFinalResponse(exchange);
      return;
    }
    this.#questions?.answer(envelope);
    // The client receives the remaining questions again.
    if (this.#hasQuestions) {
      this.#suspend();
      return;
    }
    this.#call?.resume();
    this.#relayStored();
  }

  /** True if the request needs its own connection, because nothing else relates server messages to it. */
  get #needsExclusive(): boolean {
    const { server } = this.#route;
    const { isolation, forward_roots } = server.entry;
    // All clients of a shared server use the same connections.
    if (isolation === 'shared') return false;
    // Other methods cannot request input, but list results may depend on the client's capabilities.
    if (!interactive.test(this.#route.envelope.method))
      return (
        this.#exclusives.has(this.#caller) ||
        server.mayShowMoreTo({ era: 'modern', capabilities: this.#caller.capabilities })
      );
    const { elicitation, sampling, roots, extensions } = this.#caller.capabilities;
    // A tool's results may depend on the client's extensions, like its page.
    if (extensions !== undefined && listingCapabilities({ extensions }).length > 0) return true;
    if (elicitation !== undefined || sampling !== undefined || this.#caller.logLevel !== undefined)
      return true;
    return forward_roots && roots !== undefined;
  }

  get #hasQuestions(): boolean {
    return this.#questions !== undefined && this.#questions.size > 0;
  }

  #scheduleSuspension(): void {
    this.#suspendTimer ??= setTimeout(() => {
      this.#suspendTimer = undefined;
      if (this.#exchange !== undefined && this.#hasQuestions) this.#suspend();
    }, GATHER_MS);
  }

  /** Completes the client's request with the questions as its result, and suspends the call. */
  #suspend(): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    const token = this.#suspendedCalls.suspend(this);
    if (token === undefined) {
      const reason = 'the gateway is stopping';
      this.#questions?.refuseAll(reason);
      exchange.fail(new StoppedError(`${reason} and no longer waits for client input`));
      this.#call?.cancel(reason);
      return;
    }
    const requestState = exchange.modernResult?.states?.wrap(token) ?? token;
    this.#call?.suspend();
    this.suspendedAt = performance.now();
    this.#exchange = undefined;
    // This request is complete; its cancellation must not affect the suspended call.
    exchange.call = undefined;
    exchange.resultText(
      `{"resultType":"input_required","inputRequests":${this.#questions?.rawRequests ?? '{}'},"requestState":${rawJson(requestState)}}`,
    );
  }

  /**
   * Completes the call. `respond` is called now, or for the retry if the call is suspended. `isAbandoned`:
   * the server may still send messages about the call, so the exclusive connection is closed.
   */
  #finish(respond: (exchange: ClientExchange) => void, isAbandoned: boolean): void {
    clearTimeout(this.#suspendTimer);
    this.#questions?.refuseAll('the call has ended');
    if (this.#exclusive !== undefined) this.#exclusives.release(this.#exclusive, isAbandoned);
    this.#exclusive = undefined;
    const exchange = this.#exchange;
    if (exchange === undefined) this.#sendFinalResponse = respond;
    else respond(exchange);
  }

  #relayStored(): void {
    const messages = this.#stored ?? [];
    this.#stored = undefined;
    this.#storedBytes = 0;
    for (const message of messages) this.relay(message);
  }

  /**
   * Sends a message to the client. Progress gets the token of the latest request; without a token it is
   * dropped.
   */
  #relayTo(exchange: ClientExchange, message: Buffer): void {
    const { progressToken, bytes } = this.#latestRequest;
    // The message already contains the token of the first request.
    if (this.#latestRequest === this.#route.envelope) {
      exchange.relay(message);
      return;
    }
    const notification = readServerMessage(message);
    const progress =
      notification.method === 'notifications/progress' ? notification.param('progressToken') : undefined;
    if (progress === undefined) exchange.relay(message);
    else if (progressToken !== undefined)
      exchange.relay(toBuffer(applyEdits(message, [replaceSpan(progress, rawOf(bytes, progressToken))])));
  }

  #resultEdits(answer: Envelope, exchange: ClientExchange): Edit[] {
    if (answer.error !== undefined) return modernErrorEdits(answer);
    const { complete, withNoCache } = resultMetadataOf(exchange.modernResult?.serverInfo);
    return (cacheable.test(this.#route.envelope.method) ? withNoCache : complete).edits(answer);
  }
}

/** Converts the error code for a missing resource (2026-07-28, "Resources", error handling). */
function modernErrorEdits({ bytes, error }: Envelope): Edit[] {
  const code = memberOf(bytes, error, 'code');
  if (code === undefined || Number(rawOf(bytes, code)) !== rpcCodes.resourceNotFound) return [];
  return [replaceSpan(code, String(rpcCodes.invalidParams))];
}

function isAtLeast(envelope: Envelope, level: LogLevel): boolean {
  return Subscriptions.passes(envelope.paramText('level'), level);
}
