// Context for an HTTP request, with methods for the kinds of responses: JSON, an error body, a JSON-RPC
// error. Each response contains the request id and, for allowed origins, the CORS headers.
//
// EXC1  MCP addresses return each error as a JSON-RPC message. If a request was accepted, the status is 200
//       (ADR9, docs/decisions.md).

import { randomBytes } from 'node:crypto';
import type { Alarms } from '../../../actors/base/alarms/alarms.ts';
import { GatewayError, OverloadedError, StoppedError } from '../../../actors/base/errors/errors.ts';
import { anonymous, type Principal } from '../../../actors/identity/principal.ts';
import { errorMessage } from '../../../actors/mcp/jsonrpc/compose.ts';
import { RpcFault, rpcCodes } from '../../../actors/mcp/jsonrpc/rpc-fault.ts';
import type { Message } from '../../../actors/mcp/jsonrpc/span.ts';
import { networkOf } from '../body/body-budget.ts';
import type { Body, BodyProblem, HeaderList, HttpReply, HttpRequest } from '../listener/seam.ts';
import { reasonPhrase, refusalCode, statusOf, statusOfFault } from '../status.ts';

const validId = /^[A-Za-z0-9._:-]{1,128}$/;
// Trace Context Level 1, section 3.2: version 00; all-zero ids are invalid.
const validTrace = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

/** Returns the client's valid request id, else a new id. */
function requestIdOf(clientId: string | undefined): string {
  return clientId !== undefined && validId.test(clientId) ? clientId : random.take(16);
}

/**
 * Continues the trace of the header with a new span. If the header is invalid, starts a trace, not sampled.
 */
function traceparentOf(header: string | undefined): string {
  const match = header === undefined ? null : validTrace.exec(header);
  const span = random.take(8);
  return match === null ? `00-${random.take(16)}-${span}-00` : `00-${match[1]}-${span}-${match[2]}`;
}

/** Pool of random bytes, because a system call per request is expensive. */
const random = {
  pool: '',
  take(bytes: number): string {
    const length = bytes * 2;
    if (this.pool.length < length) this.pool = randomBytes(4096).toString('hex');
    const hex = this.pool.slice(-length);
    this.pool = this.pool.slice(0, -length);
    return hex;
  },
};

type Header = HeaderList[number];

const JSON_TYPE: Header = ['content-type', 'application/json'];
const none: HeaderList = [];

const TOO_SLOW = 'the body did not arrive in time';
const overloaded = new OverloadedError('too many large bodies are being received; retry shortly');

export class ExchangeContext {
  readonly request: HttpRequest;
  readonly reply: HttpReply;
  readonly requestId: string;
  /** Identified sender. */
  principal: Principal = anonymous;
  /** True for requests that another node has forwarded; they are not forwarded again. */
  isFromNode = false;
  /** True for requests from the inspector's page, which get shortened records (RV1, record-view.ts). */
  isFromInspector = false;
  /** True for MCP addresses; set before any response. */
  isMcp = false;
  readonly #alarms: Pick<Alarms, 'record'> | undefined;
  #traceparent: string | undefined;
  /** Headers for every response: CORS and the inspector's security headers. */
  extraHeaders: HeaderList = none;

  constructor(request: HttpRequest, reply: HttpReply, alarms?: Pick<Alarms, 'record'>) {
    this.request = request;
    this.reply = reply;
    this.#alarms = alarms;
    this.requestId = requestIdOf(request.headers['x-request-id']);
  }

  /** Network of the client, for the limit on sessions. */
  get client(): string {
    return networkOf(this.request.remoteAddress);
  }

  /** Created on demand, because most requests do not need it. */
  get traceparent(): string {
    this.#traceparent ??= traceparentOf(this.request.headers.traceparent);
    return this.#traceparent;
  }

  headers(more: HeaderList = none, type?: Header): HeaderList {
    const id: Header = ['x-request-id', this.requestId];
    const all: Header[] = type === undefined ? [id] : [id, type];
    if (this.extraHeaders.length > 0) all.push(...this.extraHeaders);
    if (more.length > 0) all.push(...more);
    return all;
  }

  json(status: number, body: unknown, more?: HeaderList): void {
    this.jsonText(status, JSON.stringify(body), more);
  }

  jsonText(status: number, text: Body, more?: HeaderList): void {
    this.reply.send(status, this.headers(more, JSON_TYPE), text);
  }

  /** Responds with a JSON-RPC message. */
  message(status: number, message: Message, more?: HeaderList): void {
    this.reply.send(status, this.headers(more, JSON_TYPE), message);
  }

  empty(status: number, more?: HeaderList): void {
    this.reply.send(status, this.headers(more));
  }

  /** Responds with `{error, message, request_id}`; on MCP routes, with a JSON-RPC error. */
  error(status: number, message: string, more: HeaderList = [], details: Record<string, unknown> = {}): void {
    if (this.isMcp) this.message(status, errorMessage(undefined, refusalCode(status), message), more);
    else
      this.json(
        status,
        { error: reasonPhrase(status), message, ...details, request_id: this.requestId },
        more,
      );
  }

  /**
   * Counts a request that exceeded a limit; errors of all limits have the code of OverloadedError. Call it
   * before sending the error response.
   */
  countRefusal(error: GatewayError): void {
    if (error.code === overloaded.code)
      this.#alarms?.record(
        'requests_refused',
        `limits refuse requests, the last one because ${error.message}`,
      );
  }

  /** Responds to an error on a route that is not JSON-RPC. Hides the details of internal errors. */
  fail(error: unknown, redact: (text: string) => string): void {
    if (!(error instanceof GatewayError)) {
      this.error(500, 'internal error; the log has the details under this request id');
      return;
    }
    this.countRefusal(error);
    const tail = 'stderrTail' in error ? (error.stderrTail as readonly string[]) : [];
    const details = tail.length > 0 ? { stderr: tail.map(redact) } : {};
    this.error(statusOf(error), redact(error.message), retryAfter(error), details);
  }

  /** Refuses an invalid message on a JSON-RPC route. */
  rpcFault(fault: RpcFault, status: number = statusOfFault(fault)): void {
    this.message(status, errorMessage(fault.rawId, fault.code, fault.message, fault.data));
  }

  /**
   * Responds with a gateway error on a JSON-RPC route. `rawId`: id of the request, if it was accepted (EXC1).
   */
  rpcError(error: GatewayError, rawId: string | undefined, more: HeaderList = []): void {
    const isAccepted = this.isMcp && rawId !== undefined;
    this.#rpcError(isAccepted ? 200 : statusOf(error), error, rawId, more);
  }

  /** Refuses an incomplete or oversized body, on a route that is not JSON-RPC. */
  refuseBody(problem: BodyProblem, maxBytes: number): void {
    if (problem === 'over_budget') this.fail(overloaded, (text) => text);
    else if (problem === 'too_slow') this.error(408, TOO_SLOW);
    else this.error(413, `the body is larger than ${maxBytes} bytes`);
  }

  /** Refuses an incomplete or oversized body on a JSON-RPC route. */
  refuseRpcBody(problem: BodyProblem, maxBytes: number): void {
    const invalidRequest = (message: string) => new RpcFault(rpcCodes.invalidRequest, message);
    if (problem === 'over_budget') this.rpcError(overloaded, undefined);
    else if (problem === 'too_slow') this.rpcFault(invalidRequest(TOO_SLOW), 408);
    else this.rpcFault(invalidRequest(`the body is larger than limits.body_bytes (${maxBytes})`), 413);
  }

  /**
   * Refuses a request while the gateway is stopping, and closes the connection. `rawId`: JSON-RPC request id.
   */
  refuseWhileDraining(rawId?: string): void {
    const error = new StoppedError('the gateway is stopping and accepts no new requests');
    const status = statusOf(error);
    if (this.isMcp) this.#rpcError(status, error, rawId, closeHeaders(error));
    else this.error(status, error.message, [...retryAfter(error), ...closeHeaders(error)]);
  }

  #rpcError(status: number, error: GatewayError, rawId: string | undefined, more: HeaderList): void {
    this.countRefusal(error);
    const message = errorMessage(rawId, error.rpcCode, error.message, error.data);
    this.message(status, message, [...retryAfter(error), ...more]);
  }
}

export function retryAfter(error: GatewayError): HeaderList {
  return error.retryAfterSeconds === undefined ? [] : [['retry-after', String(error.retryAfterSeconds)]];
}

/** Returns the header that closes the connection if the gateway is stopping. */
export function closeHeaders(error: GatewayError): HeaderList {
  return error instanceof StoppedError ? [['connection', 'close']] : [];
}
