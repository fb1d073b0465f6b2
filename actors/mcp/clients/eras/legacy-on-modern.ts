// Serves legacy clients (sessions) at modern servers (stateless, 2026-07-28). A modern server sends no
// requests: its result lists the required input, and the gateway repeats the request with the input. The
// client receives the input requests on the stream of its original request, then one response. Limits:
// MAX_ROUNDS repetitions, and the time limits of the call, which all rounds share and which pause while the
// client answers (calls/limits.ts; A2 and A8, ARCHITECTURE.md).

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
import {
  concatEdits,
  type Edit,
  rawJson,
  rawOf,
  replaceSpan,
  type Span,
  toBuffer,
} from '../../jsonrpc/span.ts';
import type { Call, CallConnection, CallExchange } from '../../servers/calls/call.ts';
import type { PoolMember } from '../../servers/pool/pool-member.ts';
import type { Cancellable } from '../exchange.ts';
import type { RoutedRequest } from '../routed-request.ts';
import { taskChanges } from '../tasks/hidden-tasks.ts';
import { withElicitationId } from './url-elicitation.ts';

const MAX_ROUNDS = 8;
/** Pause before a retry if the server requires input but requests none, multiplied by the round. */
const PAUSE_MS = 100;

/** Removes the modern members from results. */
const legacyResult = new ResultChange(
  { resultType: undefined, ttlMs: undefined, cacheScope: undefined },
  { [metaKeys.serverInfo]: undefined },
);

/** Identity sent for sessionless clients. */
const unknownClient = { clientInfo: { name: 'unknown', version: '0' }, capabilities: {} };
const rawUnknownClient = rawMetaOf(
  rawJson(unknownClient.clientInfo),
  rawJson(unknownClient.capabilities),
  undefined,
);

export class LegacyOnModern implements CallExchange, Cancellable {
  readonly #route: RoutedRequest;
  #call: Call | undefined;
  /** Number of results so far that requested input. */
  #round = 0;
  /** Deadline for the client's answers, or pause before a retry. */
  #timer: NodeJS.Timeout | undefined;
  /**
   * Connection that counts as in use while the client answers: the server's request state may be encrypted
   * with a key that only this server process has.
   */
  #heldMember: PoolMember | undefined;
  /** Functions that withdraw the open input requests, by key. Undefined until the first request. */
  #withdrawals: Map<string, (why: string) => void> | undefined;

  constructor(route: RoutedRequest) {
    this.#route = route;
  }

  get connection(): CallConnection | undefined {
    return this.#call?.connection;
  }

  /**
   * Sends the request, or repeats it with `more` members of `params`: the request state and the client's
   * answers. Throws RpcFault for excessive nesting, and EditConflictError.
   */
  send(more?: Changes): void {
    this.#releaseConnection();
    const { server, session, trace, envelope: original, edits: own, home } = this.#route;
    const asksForLog = session !== undefined && server.subscriptions.levelOf(session) !== undefined;
    const changes = taskChanges(this.#route);
    const all = more === undefined ? changes : { ...changes, ...more };
    const edits = concatEdits(own, modernEdits(original, this.#rawMeta(), all));
    // Inserted members may exceed the nesting limit, and a retry's state is looked up in the envelope,
    // so such a message is reparsed.
    const mustParseAgain = more !== undefined || session?.description.isShallow === false;
    // All rounds share the time limits of the first call.
    const limits = this.#call?.limits;
    const { client } = this.#route.exchange;
    const origin = { owner: session, client, trace, home };
    const call = { exchange: this, era: 'modern', asksForLog, limits, ...origin } as const;
    this.#call = mustParseAgain
      ? server.handle.accept({
          ...call,
          envelope: readServerMessage(toBuffer(applyEdits(original.bytes, edits))),
        })
      : server.handle.accept({ envelope: original, edits, ...call });
  }

  answer(envelope: Envelope): void {
    const { exchange } = this.#route;
    if (asksForInput(envelope)) {
      this.#requestInputs(envelope);
      return;
    }
    if (envelope.error !== undefined && errorOf(envelope)?.code === rpcCodes.missingCapability) {
      this.#refuse(errorText(envelope));
      return;
    }
    const { rewrite } = exchange;
    exchange.rewrite = (answer) => {
      const edits = answer.error === undefined ? legacyResult.edits(answer) : this.#legacyErrorEdits(answer);
      return concatEdits(rewrite?.(answer), edits);
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
    this.#withdrawAll('the request was cancelled');
    if (this.#call?.isDone === false) this.#call.cancel(reason);
    else this.#route.exchange.drop();
  }

  /** Converts the error code for a missing resource. */
  #legacyErrorEdits(answer: Envelope): Edit[] {
    const { bytes, error } = answer;
    if (
      this.#route.envelope.method !== 'resources/read' ||
      memberOf(bytes, memberOf(bytes, error, 'data'), 'uri') === undefined
    )
      return [];
    const code = memberOf(bytes, error, 'code');
    if (code === undefined || Number(rawOf(bytes, code)) !== rpcCodes.invalidParams) return [];
    return [replaceSpan(code, String(rpcCodes.resourceNotFound))];
  }

  /** Returns the client's identity, with the capabilities that the server may use. */
  #caller(): Caller {
    const { session, server } = this.#route;
    if (session === undefined) return unknownClient;
    const { roots, ...rest } = session.capabilities;
    return {
      clientInfo: session.clientInfo,
      capabilities: roots === undefined || !server.entry.forward_roots ? rest : { ...rest, roots },
    };
  }

  /** Returns the client's identity as metadata of the request. */
  #rawMeta(): RawMeta {
    const { session, server } = this.#route;
    if (session === undefined) return rawUnknownClient;
    const { rawInfo, rawCapabilities, rawWithoutRoots } = session.description;
    const raw = server.entry.forward_roots ? rawCapabilities : rawWithoutRoots;
    return rawMetaOf(rawInfo, raw, server.subscriptions.levelOf(session));
  }

  /** Sends the input requests in a result to the client, and repeats the request when all are answered. */
  #requestInputs(answer: Envelope): void {
    const { bytes, result } = answer;
    const limits = this.#call?.limits;
    if (limits === undefined) return;
    this.#round += 1;
    if (this.#round > MAX_ROUNDS) {
      this.#refuse(`the server still requests input after ${MAX_ROUNDS} rounds`);
      return;
    }
    // The last duplicate key counts, like in JSON.parse.
    const requests = new Map(
      membersOf(bytes, memberOf(bytes, result, 'inputRequests')).map(({ key, value }) => [key, value]),
    );
    const state = memberOf(bytes, result, 'requestState');
    const rawState = state === undefined ? {} : { requestState: rawOf(bytes, state) };
    this.#holdConnection();
    const now = performance.now();
    limits.touch(now);
    if (requests.size === 0) {
      // The server only requires that the request is repeated with its state.
      this.#timer = setTimeout(() => this.#sendAgain(rawState), PAUSE_MS * this.#round);
      return;
    }
    limits.pause(this, now);
    const refuse = () => this.#refuse('the client did not answer in time');
    this.#timer = setTimeout(refuse, limits.pauseEndsAt - now);
    const responses = new Map<string, string>();
    for (const [key, value] of requests) {
      this.#requestInput(key, bytes, value, (raw) => {
        responses.set(key, raw);
        if (responses.size < requests.size) return;
        const texts = [...responses].map(([name, response]) => `${rawJson(name)}:${response}`);
        this.#sendAgain({ ...rawState, inputResponses: `{${texts.join(',')}}` });
      });
      if (this.#route.exchange.isDone) return;
    }
  }

  /** Repeats the request with the client's answers, which may exceed the nesting limit. */
  #sendAgain(more: Readonly<Record<string, string>>): void {
    clearTimeout(this.#timer);
    this.#call?.limits.resume(this, performance.now());
    try {
      this.send(more);
    } catch (error) {
      if (error instanceof RpcFault) this.#refuse(error.message);
      else if (error instanceof GatewayError) this.#route.exchange.fail(error);
      else throw error;
    }
  }

  #requestInput(key: string, bytes: Buffer, span: Span, onResponse: (raw: string) => void): void {
    const { session, exchange } = this.#route;
    const rawMethod = memberOf(bytes, span, 'method');
    const method: unknown = rawMethod === undefined ? undefined : JSON.parse(utf8Of(bytes, rawMethod));
    if (typeof method !== 'string') {
      this.#refuse('the server sent an input request without a method');
      return;
    }
    if (session === undefined || !isDeclared(method, this.#caller())) {
      this.#refuse(`the server requests ${method.slice(0, 100)}, which the client does not support`);
      return;
    }
    const params = memberOf(bytes, span, 'params');
    const question = { method, rawParams: params && withElicitationId(method, bytes, params) };
    // The entry precedes `sendRequest`, which may call a handler immediately. The handler removes the entry,
    // and the returned function is then not stored.
    this.#withdrawals ??= new Map();
    const withdrawals = this.#withdrawals.set(key, () => {});
    const withdraw = session.sendRequest(
      exchange,
      question,
      (response) => {
        withdrawals.delete(key);
        if (response.result === undefined)
          this.#refuse(`the client refused ${method}: ${errorText(response)}`);
        else onResponse(rawOf(response.bytes, response.result));
      },
      (why) => {
        withdrawals.delete(key);
        this.#refuse(`${method}: ${why}`);
      },
    );
    if (withdrawals.has(key)) withdrawals.set(key, withdraw);
  }

  /**
   * Completes the call without the input. Tool calls get an error result, which models see; other requests
   * get an error.
   */
  #refuse(why: string): void {
    this.#withdrawAll('the call has ended');
    const { exchange, envelope } = this.#route;
    if (exchange.isDone) return;
    const text = `input required by the server could not be provided: ${why}`;
    if (envelope.method === 'tools/call') {
      const result = { content: [{ type: 'text', text }], isError: true };
      // The exchange replaces the id 0.
      exchange.answer(readServerMessage(resultMessage('0', result)));
    } else exchange.refuse(new RpcFault(rpcCodes.internalError, text));
  }

  #withdrawAll(why: string): void {
    clearTimeout(this.#timer);
    this.#releaseConnection();
    for (const withdraw of this.#withdrawals?.values() ?? []) withdraw(why);
    this.#withdrawals?.clear();
  }

  /** Marks the connection as in use while the client answers; only needed for local processes. */
  #holdConnection(): void {
    if (this.#route.server.entry.runtime !== 'stdio') return;
    for (const member of this.#route.server.pool.members) {
      if (member.connection !== this.#call?.connection) continue;
      // A connection with a request in flight is not closed.
      member.inFlight += 1;
      this.#heldMember = member;
    }
  }

  #releaseConnection(): void {
    if (this.#heldMember === undefined) return;
    this.#heldMember.inFlight -= 1;
    this.#heldMember.lastUsedAt = performance.now();
    this.#heldMember = undefined;
  }
}

/** Client capability that each server request requires. */
const declaredBy: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};

/** Returns true if the client supports this server request. */
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
  return typeof message === 'string' ? message.slice(0, 300) : 'no reason';
}

function utf8Of(bytes: Buffer, { start, end }: Span): string {
  return bytes.toString('utf8', start, end);
}
