// Serves a request of a legacy client at a server that speaks the modern era only. A modern server sends no requests: its result
// says which input it needs, and the request is sent again with that input. The client is asked by requests on the stream of
// its own request, and gets one answer.
//
// LM1  the request state that the server gives out is kept here and never sent to the client.
// LM2  at most MAX_ROUNDS rounds are made, and each question has the session's own deadline (A2, A8).
// LM3  when the client cancels its request, the open questions to it and the request at the server are cancelled.
// LM4  while the client is asked, the server's connection counts as used: its process may have encrypted the request state
//      with a key that no other process has.

import { GatewayError } from '../../../base/errors/errors.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { resultMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { type Changes, memberOf, membersOf } from '../../jsonrpc/members.ts';
import {
  asksForInput,
  type Caller,
  metaKeys,
  modernEdits,
  type RawMeta,
  rawMetaOf,
} from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { ResultChange } from '../../jsonrpc/result-change.ts';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, rawJson, rawOf, replacing, type Span, together, whole } from '../../jsonrpc/span.ts';
import type { Call, CallConnection, Exchange } from '../../servers/calls/call.ts';
import type { PoolMember } from '../../servers/pool/pool-member.ts';
import type { Cancellable } from '../client-exchange.ts';
import type { RoutedRequest } from '../routed-request.ts';
import { taskChanges } from '../tasks/hidden-tasks.ts';
import { withElicitationId } from './url-elicitation.ts';

const MAX_ROUNDS = 8;
/** Before a retry that brings nothing new, in milliseconds, times the round. */
const PAUSE_MS = 100;

/** A legacy result: without what only a modern client knows. */
const legacyResult = new ResultChange(
  { resultType: undefined, ttlMs: undefined, cacheScope: undefined },
  { [metaKeys.serverInfo]: undefined },
);

/** The caller for a client without a session. */
const anybody = { clientInfo: { name: 'unknown', version: '0' }, capabilities: {} };
const rawAnybody = rawMetaOf(rawJson(anybody.clientInfo), rawJson(anybody.capabilities), undefined);

export class LegacyOnModern implements Exchange, Cancellable {
  readonly #route: RoutedRequest;
  #call: Call | undefined;
  #round = 0;
  #timer: NodeJS.Timeout | undefined;
  #held: PoolMember | undefined;
  /** Withdraws each open question. Undefined until the first: most calls are asked nothing. */
  #open: Map<string, (why: string) => void> | undefined;

  constructor(route: RoutedRequest) {
    this.#route = route;
  }

  get connection(): CallConnection | undefined {
    return this.#call?.connection;
  }

  /**
   * `more` are additional members for a retry. Throws RpcFault for excessive nesting, and EditConflictError.
   */
  send(more?: Changes): void {
    this.#letGo();
    const { server, session, trace, envelope: received, edits: own, home } = this.#route;
    const asksForLog = session !== undefined && server.subscriptions.levelOf(session) !== undefined;
    const changes = taskChanges(this.#route);
    const all = more === undefined ? changes : { ...changes, ...more };
    const edits = together(own, modernEdits(received, this.#rawMeta(), all));
    // What is put in may stand deeper there than where it came from; and a retry's state is looked for in its envelope.
    const isRead = more !== undefined || session?.description.isShallow === false;
    const call = { exchange: this, owner: session, era: 'modern', trace, asksForLog, home } as const;
    this.#call = isRead
      ? server.handle.accept({
          ...call,
          envelope: readServerMessage(whole(applyEdits(received.bytes, edits))),
        })
      : server.handle.accept({ envelope: received, edits, ...call });
  }

  answer(envelope: Envelope): void {
    const { exchange } = this.#route;
    if (asksForInput(envelope)) {
      this.#collect(envelope);
      return;
    }
    if (envelope.error !== undefined && errorOf(envelope)?.code === rpcCodes.missingCapability) {
      this.#refuse(errorText(envelope));
      return;
    }
    const { rewrite } = exchange;
    exchange.rewrite = (answer) => {
      const edits = answer.error === undefined ? legacyResult.edits(answer) : this.#legacyCode(answer);
      return together(rewrite?.(answer), edits);
    };
    exchange.answer(envelope);
  }

  relay(message: Buffer): void {
    this.#route.exchange.relay(message);
  }

  fail(error: GatewayError): void {
    this.#route.exchange.fail(error);
  }

  drop(): void {
    this.#route.exchange.drop();
  }

  cancel(reason?: string): void {
    this.#takeBack('the request was cancelled');
    if (this.#call?.isDone === false) this.#call.cancel(reason);
    else this.#route.exchange.drop();
  }

  /** A resource that is not there has a code of its own in the legacy era. */
  #legacyCode(answer: Envelope): Edit[] {
    const { bytes, error } = answer;
    if (
      this.#route.envelope.method !== 'resources/read' ||
      memberOf(bytes, memberOf(bytes, error, 'data'), 'uri') === undefined
    )
      return [];
    const code = memberOf(bytes, error, 'code');
    if (code === undefined || Number(rawOf(bytes, code)) !== rpcCodes.invalidParams) return [];
    return [replacing(code, String(rpcCodes.resourceNotFound))];
  }

  #caller(): Caller {
    const { session, server } = this.#route;
    if (session === undefined) return anybody;
    const { roots, ...rest } = session.capabilities;
    return {
      clientInfo: session.clientInfo,
      capabilities: roots === undefined || !server.entry.forward_roots ? rest : { ...rest, roots },
    };
  }

  /** The caller as each request says it. */
  #rawMeta(): RawMeta {
    const { session, server } = this.#route;
    if (session === undefined) return rawAnybody;
    const { rawInfo, rawCapabilities, rawWithoutRoots } = session.description;
    const raw = server.entry.forward_roots ? rawCapabilities : rawWithoutRoots;
    return rawMetaOf(rawInfo, raw, server.subscriptions.levelOf(session));
  }

  /** Asks the client for what the server wants to know, all at once, and the server again when it is all there. */
  #collect(answer: Envelope): void {
    const { bytes, result } = answer;
    this.#round += 1;
    if (this.#round > MAX_ROUNDS) {
      this.#refuse(`the server still asked for input after ${MAX_ROUNDS} rounds`);
      return;
    }
    // A key that occurs twice is one question: the last, as a parser would have it.
    const requests = new Map(
      membersOf(bytes, memberOf(bytes, result, 'inputRequests')).map(({ key, value }) => [key, value]),
    );
    const state = memberOf(bytes, result, 'requestState');
    const rawState = state === undefined ? {} : { requestState: rawOf(bytes, state) };
    this.#hold();
    if (requests.size === 0) {
      this.#timer = setTimeout(() => this.#sendAgain(rawState), PAUSE_MS * this.#round);
      return;
    }
    const responses = new Map<string, string>();
    for (const [key, value] of requests) {
      this.#ask(key, bytes, value, (raw) => {
        responses.set(key, raw);
        if (responses.size < requests.size) return;
        const texts = [...responses].map(([name, response]) => `${rawJson(name)}:${response}`);
        this.#sendAgain({ ...rawState, inputResponses: `{${texts.join(',')}}` });
      });
      if (this.#route.exchange.isDone) return;
    }
  }

  /** What the client has answered may not be fit to be sent on: it stands deeper in a request than in an answer. */
  #sendAgain(more: Readonly<Record<string, string>>): void {
    try {
      this.send(more);
    } catch (error) {
      if (error instanceof RpcFault) this.#refuse(error.message);
      else if (error instanceof GatewayError) this.#route.exchange.fail(error);
      else throw error;
    }
  }

  #ask(key: string, bytes: Buffer, span: Span, onResponse: (raw: string) => void): void {
    const { session, exchange } = this.#route;
    const rawMethod = memberOf(bytes, span, 'method');
    const method: unknown = rawMethod === undefined ? undefined : JSON.parse(utf8Of(bytes, rawMethod));
    if (typeof method !== 'string') {
      this.#refuse('the server asked for something without a method');
      return;
    }
    if (session === undefined || !isDeclared(method, this.#caller())) {
      this.#refuse(`the server asked for ${method.slice(0, 100)}, which the client did not declare`);
      return;
    }
    const params = memberOf(bytes, span, 'params');
    const question = { method, rawParams: params && withElicitationId(method, bytes, params) };
    // Entered first: it may be refused at once.
    this.#open ??= new Map();
    const open = this.#open.set(key, () => {});
    const takeBack = session.pose(
      exchange,
      question,
      (response) => {
        open.delete(key);
        if (response.result === undefined)
          this.#refuse(`the client refused ${method}: ${errorText(response)}`);
        else onResponse(rawOf(response.bytes, response.result));
      },
      (why) => {
        open.delete(key);
        this.#refuse(`${method}: ${why}`);
      },
    );
    if (open.has(key)) open.set(key, takeBack);
  }

  /** The input is not to be had: a tool says so in its result, where its caller reads it; anything else is an error. */
  #refuse(why: string): void {
    this.#takeBack('the call it was asked for has ended');
    const { exchange, envelope } = this.#route;
    if (exchange.isDone) return;
    const text = `input required by the server could not be provided: ${why}`;
    if (envelope.method === 'tools/call') {
      const result = { content: [{ type: 'text', text }], isError: true };
      exchange.answer(readServerMessage(resultMessage('0', result)));
    } else exchange.refuse(new RpcFault(rpcCodes.internalError, text));
  }

  #takeBack(why: string): void {
    clearTimeout(this.#timer);
    this.#letGo();
    for (const takeBack of this.#open?.values() ?? []) takeBack(why);
    this.#open?.clear();
  }

  #hold(): void {
    if (this.#route.server.entry.runtime !== 'stdio') return;
    for (const member of this.#route.server.pool.members) {
      if (member.connection !== this.#call?.connection) continue;
      member.inFlight += 1;
      this.#held = member;
    }
  }

  #letGo(): void {
    if (this.#held === undefined) return;
    this.#held.inFlight -= 1;
    this.#held.lastUsedAt = performance.now();
    this.#held = undefined;
  }
}

/** The capability a client declares for each thing it may be asked. */
const declaredBy: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};

export function isDeclared(method: string, { capabilities }: Caller): boolean {
  const name = Object.hasOwn(declaredBy, method) ? declaredBy[method] : undefined;
  const declared = capabilities as Readonly<Record<string, unknown>>;
  return name !== undefined && declared[name] !== undefined;
}

function errorOf(answer: Envelope): { readonly code?: unknown; readonly message?: unknown } | undefined {
  return (answer.parse(answer.error) as object | null | undefined) ?? undefined;
}

function errorText(answer: Envelope): string {
  const message = errorOf(answer)?.message;
  return typeof message === 'string' ? message.slice(0, 300) : 'no reason was given';
}

function utf8Of(bytes: Buffer, { start, end }: Span): string {
  return bytes.toString('utf8', start, end);
}
