// The context of one HTTP request for its route, and the ways in which a route answers: JSON, an error body, or a JSON-
// RPC error. Each answer carries the request id and, where the origin is allowed, the CORS headers.
//
// EXC1  MCP addresses return every error as a JSON-RPC message, and answer an accepted request with status 200 (ADR9).

import { randomBytes } from 'node:crypto';
import { GatewayError, OverloadedError, StoppedError } from '../../../actors/base/errors/errors.ts';
import { anonymous, type Principal } from '../../../actors/identity/principal.ts';
import { errorMessage } from '../../../actors/mcp/jsonrpc/compose.ts';
import { RpcFault, rpcCodes } from '../../../actors/mcp/jsonrpc/rpc-fault.ts';
import type { Message } from '../../../actors/mcp/jsonrpc/span.ts';
import type { BodyProblem, HeaderList, HttpReply, HttpRequest } from '../listener/seam.ts';
import { reasonPhrase, refusalCode, statusOf, statusOfFault } from '../status.ts';

const saneId = /^[A-Za-z0-9._:-]{1,128}$/;
// Trace Context Level 1, section 3.2: version 00; all-zero ids are invalid.
const saneTrace = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

/** Returns the client's id if valid, or a new one. */
function requestIdOf(given: string | undefined): string {
  return given !== undefined && saneId.test(given) ? given : random.take(16);
}

/** Continues the trace under a new span; without a trace, starts one that is not sampled. */
function traceparentOf(given: string | undefined): string {
  const match = given === undefined ? null : saneTrace.exec(given);
  const span = random.take(8);
  return match === null ? `00-${random.take(16)}-${span}-00` : `00-${match[1]}-${span}-${match[2]}`;
}

/** Random bytes for many requests at once, because a system call per request is expensive. */
const random = {
  pool: '',
  take(bytes: number): string {
    const length = bytes * 2;
    if (this.pool.length < length) this.pool = randomBytes(4096).toString('hex');
    const taken = this.pool.slice(-length);
    this.pool = this.pool.slice(0, -length);
    return taken;
  },
};

type Header = HeaderList[number];

const JSON_TYPE: Header = ['content-type', 'application/json'];
const none: HeaderList = [];

const TOO_SLOW = 'the body did not arrive in time';
const noRoom = new OverloadedError('too many large bodies are being received; send it again shortly');

export class ExchangeContext {
  readonly request: HttpRequest;
  readonly reply: HttpReply;
  readonly requestId: string;
  /** Who asks, once that is known. */
  principal: Principal = anonymous;
  /** Another node has passed it on, and it goes no further. */
  isFromNode = false;
  /** True for requests from the inspector's page, which get brief records (RV1). */
  isFromInspector = false;
  /** True for MCP addresses; set before anything is answered. */
  isMcp = false;
  #traceparent: string | undefined;
  /** Headers for every response: CORS and the inspector's security headers. */
  extraHeaders: HeaderList = none;

  constructor(request: HttpRequest, reply: HttpReply) {
    this.request = request;
    this.reply = reply;
    this.requestId = requestIdOf(request.headers['x-request-id']);
  }

  /** Made when it is first asked for: most requests go to servers that cannot be told. */
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
    this.reply.send(status, this.headers(more, JSON_TYPE), JSON.stringify(body));
  }

  /** A JSON-RPC message as the whole answer. */
  message(status: number, message: Message, more?: HeaderList): void {
    this.reply.send(status, this.headers(more, JSON_TYPE), message);
  }

  empty(status: number, more?: HeaderList): void {
    this.reply.send(status, this.headers(more));
  }

  /** `{error, message, request_id}`, as every plain route fails; a JSON-RPC error on MCP routes. */
  error(status: number, message: string, more: HeaderList = [], details: Record<string, unknown> = {}): void {
    if (this.isMcp) this.message(status, errorMessage(undefined, refusalCode(status), message), more);
    else
      this.json(
        status,
        { error: reasonPhrase(status), message, ...details, request_id: this.requestId },
        more,
      );
  }

  /** An error of the gateway's own on a plain route; anything else is a fault of ours and says no more than that. */
  fail(error: unknown, redact: (text: string) => string): void {
    if (!(error instanceof GatewayError)) {
      this.error(500, 'internal error; the log has the details under this request id');
      return;
    }
    const tail = 'stderrTail' in error ? (error.stderrTail as readonly string[]) : [];
    const details = tail.length > 0 ? { stderr: tail.map(redact) } : {};
    this.error(statusOf(error), redact(error.message), retryAfter(error), details);
  }

  /** A message on a JSON-RPC route that could not be taken. */
  rpcFault(fault: RpcFault, status: number = statusOfFault(fault)): void {
    this.message(status, errorMessage(fault.rawId, fault.code, fault.message, fault.data));
  }

  /** An error of the gateway's own on a JSON-RPC route; `rawId` identifies the accepted request that failed (EXC1). */
  rpcError(error: GatewayError, rawId: string | undefined, more: HeaderList = []): void {
    const isAnswer = this.isMcp && rawId !== undefined;
    this.#rpcError(isAnswer ? 200 : statusOf(error), error, rawId, more);
  }

  /** On a plain route: the body, of which `maxBytes` are taken, did not come as a whole. */
  refuseBody(problem: BodyProblem, maxBytes: number): void {
    if (problem === 'no_room') this.error(statusOf(noRoom), noRoom.message, retryAfter(noRoom));
    else if (problem === 'too_slow') this.error(408, TOO_SLOW);
    else this.error(413, `the body is larger than ${maxBytes} bytes`);
  }

  /** The same on a JSON-RPC route. */
  refuseRpcBody(problem: BodyProblem, maxBytes: number): void {
    const refused = (message: string) => new RpcFault(rpcCodes.invalidRequest, message);
    if (problem === 'no_room') this.rpcError(noRoom, undefined);
    else if (problem === 'too_slow') this.rpcFault(refused(TOO_SLOW), 408);
    else this.rpcFault(refused(`the body is larger than limits.body_bytes (${maxBytes})`), 413);
  }

  /** Refuses new work while the gateway is stopping, and closes the connection. `rawId` identifies a JSON-RPC request. */
  refuseWhileDraining(rawId?: string): void {
    const error = new StoppedError('the gateway is stopping and takes no new requests');
    const status = statusOf(error);
    if (this.isMcp) this.#rpcError(status, error, rawId, closing(error));
    else this.error(status, error.message, [...retryAfter(error), ...closing(error)]);
  }

  #rpcError(status: number, error: GatewayError, rawId: string | undefined, more: HeaderList): void {
    const message = errorMessage(rawId, error.rpcCode, error.message, error.data);
    this.message(status, message, [...retryAfter(error), ...more]);
  }
}

export function retryAfter(error: GatewayError): HeaderList {
  return error.retryAfterSeconds === undefined ? [] : [['retry-after', String(error.retryAfterSeconds)]];
}

/** While the gateway stops, a connection that is told so is of no use any more. */
export function closing(error: GatewayError): HeaderList {
  return error instanceof StoppedError ? [['connection', 'close']] : [];
}
