// Serves a request of a modern client at a server that speaks the legacy era only. A legacy server asks its client by requests
// while the call is under way; a modern client gets these questions as the result of its request, and answers with a new
// request. In between the call is suspended: it goes on at the server while no client waits for it.
//
// ML1  an answer of the client goes to the question it was given for, on the very connection that asked (OQ1).
// ML2  the client gets one answer for each of its requests: questions, or the result; never both (A2).
// ML3  messages of the server during the suspension are kept for the client's next request: at most MAX_KEPT, of
//      MAX_KEPT_BYTES together (A8).
// ML4  a suspended call has no deadline but that of its place (PK2). Its connection may be taken from it when there is no
//      other (LN2); the client is told so with its next request.
// ML5  what the server may ask is bounded (OQ3), and nothing it has asked is left unanswered when the call ends.

import { type GatewayError, OverloadedError, StoppedError } from '../../../base/errors/errors.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { legacyEdits } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, rawJson, rawOf, replacing, sizeOf, together, whole } from '../../jsonrpc/span.ts';
import type { CallConnection, Exchange } from '../../servers/calls/call.ts';
import type { ServerPeer } from '../../servers/calls/call-owner.ts';
import { refuseServerRequest } from '../../servers/notifications/server-request.ts';
import { type LogLevel, Subscriptions } from '../../servers/notifications/subscriptions.ts';
import type { Cancellable, ClientExchange } from '../client-exchange.ts';
import type { ClientRequest, RoutedRequest } from '../routed-request.ts';
import { taskChanges } from '../tasks/hidden-tasks.ts';
import type { ServerCall } from '../tasks/server-call.ts';
import { callServer } from '../tasks/task-call.ts';
import type { ExclusiveConnection, ExclusiveConnections, ExclusiveUser } from './exclusive-connection.ts';
import { isDeclared } from './legacy-on-modern.ts';
import type { ModernCaller } from './modern-caller.ts';
import { OpenQuestions } from './open-questions.ts';
import { resultMetadataOf } from './result-metadata.ts';
import { requestDigest, type Suspendable, type SuspendedCalls } from './suspended-calls.ts';
import { urlsRequired } from './url-elicitation.ts';

/** Questions asked within so many milliseconds become one answer: a server that asks several writes them one by one. */
const GATHER_MS = 5;

const MAX_KEPT = 256;
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/** The requests a modern client takes questions as the answer to (2026-07-28, "Multi Round-Trip Requests"). */
const interactive = /^(tools\/call|prompts\/get|resources\/read)$/;

/** Results of these say how long they may be kept (2026-07-28, "Caching"). */
const cacheable = /^(tools\/list|prompts\/list|resources\/list|resources\/templates\/list|resources\/read)$/;

export class ModernOnLegacy implements Exchange, Cancellable, ExclusiveUser, Suspendable {
  readonly server: string;
  suspendedAt: number | undefined;
  readonly #route: RoutedRequest;
  readonly #caller: ModernCaller;
  readonly #suspended: SuspendedCalls;
  readonly #exclusives: ExclusiveConnections;
  /** Undefined until the first: most calls are asked nothing. */
  #questions: OpenQuestions | undefined;
  #digest: string | undefined;
  #exclusive: ExclusiveConnection | undefined;
  #call: ServerCall | undefined;
  /** The client's request that waits for an answer; undefined while the call is suspended. */
  #exchange: ClientExchange | undefined;
  /** The message of that request, or of the last there was. */
  #current: Envelope;
  #askedSoon: NodeJS.Timeout | undefined;
  /** Undefined while nothing is. */
  #kept: Buffer[] | undefined;
  #keptBytes = 0;
  /** The answer for the client when it comes back, if the call has ended meanwhile. */
  #end: ((exchange: ClientExchange) => void) | undefined;

  constructor(
    route: RoutedRequest,
    caller: ModernCaller,
    suspended: SuspendedCalls,
    exclusives: ExclusiveConnections,
  ) {
    this.server = route.server.id;
    this.#route = route;
    this.#caller = caller;
    this.#suspended = suspended;
    this.#exclusives = exclusives;
    this.#exchange = route.exchange;
    this.#current = route.envelope;
  }

  get connection(): CallConnection | undefined {
    return this.#call?.connection;
  }

  get bytes(): number {
    return this.#route.envelope.bytes.length;
  }

  get digest(): string {
    this.#digest ??= requestDigest(this.#route.envelope, this.#caller.principal);
    return this.#digest;
  }

  send(): void {
    const { envelope, trace } = this.#route;
    if (this.#needsExclusive) this.#exclusive = this.#exclusives.take(this.#caller, this);
    const owner = this.#exclusive;
    const edits = together(this.#route.edits, legacyEdits(envelope, taskChanges(this.#route)));
    const request = { envelope, edits, exchange: this, owner, era: 'legacy', trace } as const;
    this.#call = callServer(this.#route, request);
  }

  answer(envelope: Envelope): void {
    if (this.#exchange === undefined && !this.#suspended.keep(this, sizeOf(envelope.message))) {
      this.fail(
        new OverloadedError(
          'the answer came while the client was away, and there is no room to keep it; send the request anew',
        ),
      );
      return;
    }
    const urls = envelope.error && urlsRequired(envelope, this.#caller.capabilities);
    this.#finish((exchange) => {
      if (urls !== undefined) {
        exchange.resultText(urls);
        return;
      }
      const { rewrite } = exchange;
      exchange.rewrite = (answer) => together(rewrite?.(answer), this.#metadataEdits(answer, exchange));
      exchange.answer(envelope);
    }, false);
  }

  relay(message: Buffer): void {
    const exchange = this.#exchange;
    if (exchange !== undefined) this.#tell(exchange, message);
    else {
      this.#kept ??= [];
      if (this.#kept.length >= MAX_KEPT || this.#keptBytes + message.length > MAX_KEPT_BYTES) return;
      if (!this.#suspended.keep(this, message.length)) return;
      this.#kept.push(message);
      this.#keptBytes += message.length;
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

  expire(): void {
    this.#call?.cancel('the client did not come back with the input it was asked for');
  }

  giveWay(error: GatewayError): void {
    if (this.suspendedAt === undefined) return;
    // The end of a call may have others sent, and these look for connections, too.
    this.suspendedAt = undefined;
    this.#kept = undefined;
    this.#call?.fail(error);
  }

  onServerRequest(connection: ServerPeer, envelope: Envelope): void {
    if (!isDeclared(envelope.method, this.#caller)) {
      refuseServerRequest(connection, envelope);
      return;
    }
    this.#questions ??= new OpenQuestions();
    if (this.#questions.ask(connection, envelope)) this.#askSoon();
  }

  onServerNotification(connection: ServerPeer, envelope: Envelope): void {
    const { method, bytes } = envelope;
    if (method === 'notifications/cancelled') {
      const requestId = envelope.param('requestId');
      if (requestId !== undefined) this.#questions?.takeBack(connection, rawOf(bytes, requestId));
    } else if (method === 'notifications/message') {
      const { logLevel } = this.#caller;
      if (logLevel !== undefined && isAtLeast(envelope, logLevel)) this.relay(bytes);
    }
  }

  /** The client is back, with answers to some of the questions or all of them. */
  resume({ envelope, exchange }: ClientRequest): void {
    this.#exchange = exchange;
    this.#current = envelope;
    this.suspendedAt = undefined;
    exchange.server = this.server;
    exchange.call = this;
    if (this.#end !== undefined) {
      const end = this.#end;
      this.#tellKept();
      end(exchange);
      return;
    }
    this.#questions?.answer(envelope);
    if (this.#isAsked) {
      this.#suspend();
      return;
    }
    this.#call?.resume();
    this.#tellKept();
  }

  /** Whether the server may ask or tell this client something that nothing but its connection links to its request. */
  get #needsExclusive(): boolean {
    const { server } = this.#route;
    const { isolation, forward_roots } = server.entry;
    if (isolation === 'shared') return false;
    // No other request may be answered by questions; but what a server lists may depend on whom it lists it for.
    if (!interactive.test(this.#route.envelope.method))
      return (
        this.#exclusives.has(this.#caller) ||
        server.mayShowMoreTo({ era: 'modern', capabilities: this.#caller.capabilities })
      );
    const { elicitation, sampling, roots } = this.#caller.capabilities;
    if (elicitation !== undefined || sampling !== undefined || this.#caller.logLevel !== undefined)
      return true;
    return forward_roots && roots !== undefined;
  }

  get #isAsked(): boolean {
    return this.#questions !== undefined && this.#questions.size > 0;
  }

  #askSoon(): void {
    this.#askedSoon ??= setTimeout(() => {
      this.#askedSoon = undefined;
      if (this.#exchange !== undefined && this.#isAsked) this.#suspend();
    }, GATHER_MS);
  }

  #suspend(): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    const name = this.#suspended.suspend(this);
    if (name === undefined) {
      const reason = 'the gateway is stopping';
      this.#questions?.refuseAll(reason);
      exchange.fail(new StoppedError(`${reason}, and waits for no input of clients any more`));
      this.#call?.cancel(reason);
      return;
    }
    const requestState = exchange.modernResult?.states?.wrap(name) ?? name;
    this.#call?.suspend();
    this.suspendedAt = performance.now();
    this.#exchange = undefined;
    // It has its answer: whoever cancels it now cancels nothing.
    exchange.call = undefined;
    exchange.resultText(
      `{"resultType":"input_required","inputRequests":${this.#questions?.rawRequests ?? '{}'},"requestState":${rawJson(requestState)}}`,
    );
  }

  #finish(end: (exchange: ClientExchange) => void, isSpoilt: boolean): void {
    clearTimeout(this.#askedSoon);
    this.#questions?.refuseAll('the call has ended');
    if (this.#exclusive !== undefined) this.#exclusives.giveBack(this.#exclusive, isSpoilt);
    this.#exclusive = undefined;
    const exchange = this.#exchange;
    if (exchange === undefined) this.#end = end;
    else end(exchange);
  }

  #tellKept(): void {
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    this.#keptBytes = 0;
    for (const message of kept) this.relay(message);
  }

  /** Progress is told by the token of the request that waits for it now, if that has one. */
  #tell(exchange: ClientExchange, message: Buffer): void {
    const { askedToken, bytes } = this.#current;
    if (this.#current === this.#route.envelope) {
      exchange.relay(message);
      return;
    }
    const told = readServerMessage(message);
    const token = told.method === 'notifications/progress' ? told.param('progressToken') : undefined;
    if (token === undefined) exchange.relay(message);
    else if (askedToken !== undefined)
      exchange.relay(whole(applyEdits(message, [replacing(token, rawOf(bytes, askedToken))])));
  }

  #metadataEdits(answer: Envelope, exchange: ClientExchange): Edit[] {
    if (answer.error !== undefined) return modernError(answer);
    const { complete, uncached } = resultMetadataOf(exchange.modernResult?.serverInfo);
    return (cacheable.test(this.#route.envelope.method) ? uncached : complete).edits(answer);
  }
}

/** A resource that is not there has another code in the modern era (2026-07-28, "Resources", error handling). */
function modernError({ bytes, error }: Envelope): Edit[] {
  const code = memberOf(bytes, error, 'code');
  if (code === undefined || Number(rawOf(bytes, code)) !== rpcCodes.resourceNotFound) return [];
  return [replacing(code, String(rpcCodes.invalidParams))];
}

function isAtLeast(envelope: Envelope, level: LogLevel): boolean {
  return Subscriptions.passes(envelope.paramText('level'), level);
}
