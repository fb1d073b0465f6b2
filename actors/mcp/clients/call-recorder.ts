// Adds each completed client request to the recent calls (actors/history) and to the audit (actors/audit).
// The message router counts and records requests in the same callback, so counters and records agree.

import type { Audit } from '../../audit/audit-part.ts';
import { GatewayError } from '../../base/errors/errors.ts';
import { MAX_RECORDED_CHARS, type RecordedOutcome } from '../../history/call-record.ts';
import type { RecentCalls } from '../../history/recent-calls.ts';
import { anonymous, type Principal, principalText, roleOf } from '../../identity/principal.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { memberOf } from '../jsonrpc/members.ts';
import { metaKeys } from '../jsonrpc/modern-meta.ts';
import { rawOf } from '../jsonrpc/span.ts';
import { nameOf as nameIn } from '../links/streamable-http/request-metadata.ts';
import { CallNames } from './call-names.ts';
import type { ClientExchange, ExchangeEnd } from './exchange.ts';
import type { ClientSession } from './sessions/session.ts';

/** Recorded outcome by the code of a gateway error; `internal` for all other codes. */
const outcomeByCode: ReadonlyMap<string, RecordedOutcome> = new Map([
  ['ERR_DEADLINE', 'timeout'],
  ['ERR_OVERLOADED', 'overload'],
  ['ERR_START_FAILED', 'start'],
  ['ERR_START_TIMEOUT', 'start'],
  ['ERR_CONNECTION_LOST', 'lost'],
  ['ERR_UPSTREAM_SESSION_EXPIRED', 'lost'],
  ['ERR_PROCESS_LOST', 'lost'],
  ['ERR_UPSTREAM_PROTOCOL', 'protocol'],
  ['ERR_MESSAGE_TOO_LARGE', 'protocol'],
  ['ERR_UNAVAILABLE', 'unavailable'],
  ['ERR_AUDIT_UNAVAILABLE', 'unavailable'],
  ['ERR_UNKNOWN_SERVER', 'refused'],
  ['ERR_UNKNOWN_TASK', 'refused'],
  ['ERR_UNKNOWN_PROFILE', 'refused'],
  ['ERR_INVALID_QUERY', 'refused'],
  ['ERR_STOPPED', 'stopped'],
  ['ERR_SESSION_GONE', 'stopped'],
]);

/** Methods of the protocol, each as one string for all calls (CallNames). */
const methods: ReadonlyMap<string, string> = new Map(
  `initialize ping server/discover logging/setLevel completion/complete
   tools/list prompts/list prompts/get skills/list skills/get
   resources/list resources/templates/list resources/directory/read resources/read
   resources/subscribe resources/unsubscribe
   tasks/list tasks/get tasks/update tasks/cancel tasks/result`
    .split(/\s+/)
    .map((method) => [method, method]),
);

/** Origin of a request. `sender` names it in the audit if there is no principal. */
export interface RecordedOrigin {
  readonly requestId: string;
  readonly traceparent?: string | undefined;
  readonly principal?: Principal;
  readonly sender?: string | undefined;
}

export interface CallRecorderOptions {
  /** Undefined if the history is disabled. */
  readonly recentCalls: Pick<RecentCalls, 'record'> | undefined;
  /** Undefined without an audit. */
  readonly audit: Pick<Audit, 'record' | 'hasArguments'> | undefined;
}

export class CallRecorder {
  readonly #calls: CallRecorderOptions['recentCalls'];
  readonly #audit: CallRecorderOptions['audit'];
  readonly #tools = new CallNames((raw) => cut(parse(raw)));
  readonly #clients = new CallNames((raw) => cut((parse(raw) as { name?: unknown } | null)?.name));

  constructor({ recentCalls, audit }: CallRecorderOptions) {
    this.#calls = recentCalls;
    this.#audit = audit;
  }

  /**
   * Reads the names of tool and client when the request arrives. When the request ends, the message is no
   * longer in the processor's cache, and reading it costs several times as much.
   */
  begin(exchange: ClientExchange, envelope: Envelope, session: ClientSession | undefined): void {
    exchange.clientName = this.#clientOf(envelope, session);
    if (envelope.method === 'tools/call') exchange.targetName = this.#toolOf(envelope);
    else if (this.#audit !== undefined)
      exchange.targetName = nameIn(envelope) ?? envelope.paramText('uri') ?? null;
  }

  /**
   * Records a completed request. `target` is the server of the address; undefined at addresses of several
   * servers. There is one argument per fact, because an object would be allocated for each call.
   */
  record(
    exchange: ClientExchange,
    envelope: Envelope,
    end: ExchangeEnd,
    error: GatewayError | undefined,
    ms: number,
    session: ClientSession | undefined,
    target: string | undefined,
    origin: RecordedOrigin,
  ): void {
    const method = nameOf(envelope.method);
    const server = exchange.server ?? exchange.mergedTarget?.server.id ?? target ?? null;
    const name = exchange.mergedTarget?.key ?? exchange.targetName;
    const outcome = outcomeOf(exchange, end, error);
    this.#calls?.record({
      ms,
      server,
      tool: method === 'tools/call' ? name : null,
      method,
      outcome,
      bytes: exchange.responseBytes,
      client: exchange.clientName,
      session: session?.label ?? null,
      code: error?.code ?? exchange.errorCode,
      origin,
    });
    if (this.#audit === undefined) return;
    const { requestId, traceparent } = origin;
    const hasArguments = this.#audit.hasArguments && method === 'tools/call';
    this.#audit.record({
      ...{ principal: senderOf(origin), role: origin.principal && roleOf(origin.principal) },
      ...{ action: method, target: targetOf(server, name), outcome },
      status: end === 'dropped' ? null : exchange.status(error),
      ...{ ms, requestId, traceparent },
      rawArguments: hasArguments ? rawMember(envelope, 'arguments') : undefined,
    });
  }

  /** Records a request for notifications when it was accepted or refused; its stream has no end. */
  recordListen(target: string | undefined, isAccepted: boolean, ms: number, origin: RecordedOrigin): void {
    const { requestId, traceparent } = origin;
    const outcome = isAccepted ? 'ok' : 'refused';
    this.#audit?.record({
      ...{ principal: senderOf(origin), role: origin.principal && roleOf(origin.principal) },
      ...{ action: 'subscriptions/listen', target, outcome },
      ...{ ms, requestId, traceparent },
    });
  }

  #toolOf(envelope: Envelope): string | null {
    const name = envelope.param('name');
    return name === undefined ? null : this.#tools.of(envelope.bytes, name);
  }

  #clientOf(envelope: Envelope, session: ClientSession | undefined): string | null {
    if (session !== undefined) return cut(session.description.name);
    const info = envelope.meta(metaKeys.clientInfo);
    return info === undefined ? null : this.#clients.of(envelope.bytes, info);
  }
}

export function senderOf({ principal, sender = 'anonymous' }: RecordedOrigin): string {
  return principal === undefined || principal === anonymous ? sender : principalText(principal);
}

function targetOf(server: string | null, name: string | null): string | null {
  if (server === null || name === null) return server ?? name;
  return `${server}/${name}`;
}

function rawMember(envelope: Envelope, name: string): string | undefined {
  const member = memberOf(envelope.bytes, envelope.params, name);
  return member && rawOf(envelope.bytes, member);
}

function nameOf(method: string): string {
  return method === 'tools/call'
    ? 'tools/call'
    : (methods.get(method) ?? method.slice(0, MAX_RECORDED_CHARS));
}

function outcomeOf(
  { isFaultOfServer }: ClientExchange,
  end: ExchangeEnd,
  error: GatewayError | undefined,
): RecordedOutcome {
  switch (end) {
    case 'answered':
      return 'ok';
    case 'tool_error':
      return 'tool';
    case 'dropped':
      return 'cancelled';
    case 'refused':
      return isFaultOfServer ? 'protocol' : 'refused';
    case 'failed':
      return outcomeOfError(error);
  }
}

function outcomeOfError(error: GatewayError | undefined): RecordedOutcome {
  const outcome = outcomeByCode.get(error?.code ?? '') ?? 'internal';
  // The call waited for the start of a server that is now parked: stopped after too many failures.
  const { cause } = error ?? {};
  const isStart = cause instanceof GatewayError && outcomeByCode.get(cause.code) === 'start';
  return outcome === 'unavailable' && isStart ? 'start' : outcome;
}

function parse(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}

function cut(text: unknown): string | null {
  if (typeof text !== 'string' || text === '') return null;
  return text.length > MAX_RECORDED_CHARS ? text.slice(0, MAX_RECORDED_CHARS) : text;
}
