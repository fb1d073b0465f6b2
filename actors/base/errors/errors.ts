// Errors of the gateway, one class per stable `code`. `rpcCode` is the JSON-RPC error code for clients;
// src/http/status.ts maps errors to HTTP statuses. A message contains the failure, its location and the
// remedy, and never a secret. docs/errors.md is generated from the doc comments: the first paragraph is the
// meaning of a code, and `@remedy` an action of the operator or the client.

import type { Unreachable } from '../../../machines/external-failure.ts';
import type { PauseRequest } from '../../../machines/requested-pause.ts';

export abstract class GatewayError extends Error {
  abstract readonly code: string;
  /**
   * JSON-RPC error code. The gateway uses -32000…-32019, which the specification leaves to implementations.
   */
  readonly rpcCode: number = -32000;
  /** Seconds until a retry can succeed; sent as the `Retry-After` header. */
  readonly retryAfterSeconds: number | undefined = undefined;
  /** True if the request certainly did not reach the server, so a retry is safe. False if unknown. */
  readonly isUnsent: boolean = false;
  /** True if the message quotes a server. The server's credentials are already redacted in it. */
  readonly isQuote: boolean = false;
  /** Members of the JSON-RPC error's `data`. */
  get data(): Record<string, unknown> {
    return { reason: this.code };
  }
  /**
   * Returns the message for a client. A quote is not redacted with the credentials of all servers, because
   * that would reveal which text in it is a credential of another server (redacted-error.ts, XE4).
   */
  messageFor(redact: (text: string) => string): string {
    return this.isQuote ? this.message : redact(this.message);
  }
  override get name(): string {
    return this.constructor.name;
  }
}

/**
 * A limit of the gateway or a server is reached: requests in flight, waiting requests, sessions, large bodies
 * or waiting events, for example. The message names the limit.
 *
 * @remedy Retry the request after a second. If the error persists, raise the setting of that limit:
 * `limits.in_flight`, `limits.sessions`, `limits.body_bytes`, `pool.in_flight`, `pool.waiting` or
 * `deliveries.max_waiting`.
 */
export class OverloadedError extends GatewayError {
  readonly code = 'ERR_OVERLOADED';
  override readonly retryAfterSeconds = 1;
}

/**
 * The server is disabled, or parked after too many failures, or other sessions use all its connections. In a
 * cluster also: the node with the server, session or event does not respond.
 *
 * @remedy Parked: repair the cause in the message, then `POST /servers/:id/start`. Disabled: set `enabled:
 * true`. All connections in use: raise `pool.max`. Otherwise follow the message, or retry the request after
 * `Retry-After`.
 */
export class UnavailableError extends GatewayError {
  readonly code = 'ERR_UNAVAILABLE';
  override readonly retryAfterSeconds: number;
  constructor(message: string, retryAfterSeconds: number, options?: ErrorOptions) {
    super(message, options);
    this.retryAfterSeconds = Math.max(1, Math.ceil(retryAfterSeconds));
  }
}

/**
 * The event store cannot be read or written: disk full, file damaged or not writable, or database
 * unreachable, for example.
 *
 * The rejected call has stored nothing.
 *
 * @remedy Follow the message: free disk space, restore the file, or start the database. Then resend the
 * event. A full disk needs no restart.
 */
export class StoreUnavailableError extends GatewayError {
  readonly code = 'ERR_STORE_UNAVAILABLE';
  override readonly retryAfterSeconds = 5;
}

/** The disk of the event store is full. The store accepts calls as soon as there is space. */
export class StoreFullError extends StoreUnavailableError {}

/** A single record is damaged. Calls without it succeed. */
export class StoreRecordError extends StoreUnavailableError {}

/**
 * The server failed to start. The message contains the cause; `POST /servers/:id/start` also returns the last
 * lines of its stderr.
 *
 * @remedy Correct `command`, `args`, `cwd`, `env`, `url` or `headers` of the server. `logs --server ID` shows
 * its stderr.
 */
export class StartFailedError extends GatewayError {
  readonly code = 'ERR_START_FAILED';
  /** Last lines of stderr, redacted. */
  readonly stderrTail: readonly string[];
  constructor(message: string, stderrTail: readonly string[] = [], options?: ErrorOptions) {
    super(message, options);
    this.stderrTail = stderrTail;
  }
}

/**
 * The server did not start within `start_timeout_seconds`, or its installation took longer than
 * `install_timeout_seconds`.
 *
 * @remedy Remove the cause in the message, such as an unreachable registry or a program that is not an MCP
 * server. If the server needs longer, raise the limit in the message.
 */
export class StartTimeoutError extends GatewayError {
  readonly code = 'ERR_START_TIMEOUT';
}

/** Copy of an error with `isUnsent`: the request was certainly not sent. */
export class UnsentError extends GatewayError {
  readonly code: string;
  override readonly rpcCode: number;
  override readonly retryAfterSeconds: number | undefined;
  override readonly isUnsent = true;
  override readonly isQuote: boolean;
  constructor(cause: GatewayError) {
    super(cause.message, { cause });
    this.isQuote = cause.isQuote;
    this.code = cause.code;
    this.rpcCode = cause.rpcCode;
    this.retryAfterSeconds = cause.retryAfterSeconds;
  }
}

/**
 * A request exceeded its deadline. The server may have handled it. `POST /reload` has a deadline of one
 * minute, after which the reload continues.
 *
 * @remedy Raise `request_timeout_seconds` (time without progress) or `max_request_seconds` of the server.
 * Retry the request only if a repetition is harmless. For a reload, read its result in the log.
 */
export class DeadlineError extends GatewayError {
  readonly code = 'ERR_DEADLINE';
  override readonly rpcCode = -32001;
}

/**
 * The connection could not be opened or was lost before the response, or the process ended. The server may
 * have handled the request.
 *
 * @remedy Read the cause in the message and in `logs --server ID`; for a remote server check `url` and
 * whether it runs. Retry the request only if a repetition is harmless.
 */
export class ConnectionLostError extends GatewayError {
  readonly code = 'ERR_CONNECTION_LOST';
}

/**
 * The remote server is away: no process listens at its address, its network is unreachable, or its name has
 * no address.
 */
export class ServerAwayError extends ConnectionLostError implements Unreachable {
  readonly isUnreachable = true;
}

/**
 * The remote server lost the session of the gateway during a request, also when the request was repeated in a
 * new session. The server may have handled the request.
 *
 * @remedy Retry the request only if a repetition is harmless. If the error persists, let the server keep its
 * sessions longer.
 */
export class SessionExpiredError extends GatewayError {
  readonly code = 'ERR_UPSTREAM_SESSION_EXPIRED';
}

interface UpstreamProtocolOptions extends ErrorOptions {
  readonly status?: number | undefined;
  readonly requestedPauseMs?: number | undefined;
  /** Code and data of the server's JSON-RPC error. */
  readonly rpcCode?: number | undefined;
  readonly data?: Record<string, unknown> | undefined;
}

/**
 * The server violated the protocol, returned an error to a request of the gateway, or responded with an HTTP
 * error status.
 *
 * @remedy Follow the message: correct `headers`, `url`, `runtime` or `era` of the server. Report other
 * violations to the author of the server.
 */
export class UpstreamProtocolError extends GatewayError implements PauseRequest, Unreachable {
  readonly code = 'ERR_UPSTREAM_PROTOCOL';
  override readonly isQuote = true;
  /** HTTP error status, if that was the failure. */
  readonly status: number | undefined;
  /** Pause that the server requests before the next request (`Retry-After`). */
  readonly requestedPauseMs: number | undefined;
  /** True if a proxy reports that the server is away. */
  readonly isUnreachable: boolean;
  override readonly retryAfterSeconds: number | undefined;
  override readonly rpcCode: number;
  readonly #data: Record<string, unknown> | undefined;
  constructor(message: string, options: UpstreamProtocolOptions = {}) {
    super(message, options);
    const { status, requestedPauseMs, rpcCode = -32000, data } = options;
    this.rpcCode = rpcCode;
    this.#data = data;
    this.status = status;
    this.isUnreachable = status === 502 || status === 503 || status === 504;
    this.requestedPauseMs = requestedPauseMs;
    this.retryAfterSeconds = requestedPauseMs === undefined ? undefined : Math.ceil(requestedPauseMs / 1000);
  }
  override get data(): Record<string, unknown> {
    return this.#data ?? super.data;
  }
}

/**
 * The response of the server exceeds `limits.message_bytes`.
 *
 * @remedy Request less data, or raise `limits.message_bytes`.
 */
export class MessageTooLargeError extends GatewayError {
  readonly code = 'ERR_MESSAGE_TOO_LARGE';
}

/**
 * The catalog has no server with this id.
 *
 * @remedy Use an id that `GET /servers` lists, or add the server to the catalog and reload.
 */
export class UnknownServerError extends GatewayError {
  readonly code = 'ERR_UNKNOWN_SERVER';
  override readonly isUnsent = true;
}

/**
 * The process with the task ended while the request waited. The request was not sent.
 *
 * @remedy Repeat the tool call, which creates a new task.
 */
export class UnknownTaskError extends GatewayError {
  readonly code = 'ERR_UNKNOWN_TASK';
  override readonly rpcCode = -32602;
  override readonly isUnsent = true;
  constructor() {
    super('Failed to retrieve task: Task not found');
  }
}

/**
 * The gateway file has no profile with this name.
 *
 * @remedy Use a name in the message, or add the profile to `profiles` and reload.
 */
export class UnknownProfileError extends GatewayError {
  readonly code = 'ERR_UNKNOWN_PROFILE';
  override readonly isUnsent = true;
}

/**
 * The client session was closed while the request was in flight. The server may have handled the request.
 *
 * @remedy Send `initialize` for a new session. Retry the request only if a repetition is harmless.
 */
export class SessionClosedError extends GatewayError {
  readonly code = 'ERR_SESSION_GONE';
  override readonly rpcCode = -32001;
}

/**
 * The session's process or remote session at a server with `lost_process: error` has ended, for example with
 * a restart of the gateway. Its state is lost. The request was not sent.
 *
 * @remedy Repeat the steps that created the state. The next request starts a new process.
 */
export class ProcessLostError extends GatewayError {
  readonly code = 'ERR_PROCESS_LOST';
}

/**
 * The server or the gateway stops, or the request was cancelled. A server may have handled the request.
 *
 * @remedy Retry the request if repetition is harmless; a stopped server starts on the next call. If the
 * message is that the tool requires input, use a client that provides input.
 */
export class StoppedError extends GatewayError {
  readonly code = 'ERR_STOPPED';
  override readonly retryAfterSeconds = 1;
}

/**
 * The audit cannot be written, and `audit.when_full` is `refuse`: the call or operation was not executed. At
 * the start: the audit file cannot be opened.
 *
 * @remedy Free disk space, or repair the file in the message. The gateway accepts calls as soon as it can
 * write. A call can be retried.
 */
export class AuditUnavailableError extends GatewayError {
  readonly code = 'ERR_AUDIT_UNAVAILABLE';
  override readonly retryAfterSeconds = 5;
  override readonly isUnsent = true;
}

/**
 * Another running process uses the state folder or the address.
 *
 * @remedy Stop that process, or set another `state_dir` or address. The message names the setting.
 */
export class AlreadyInUseError extends GatewayError {
  readonly code = 'ERR_ALREADY_HELD';
}

/**
 * Another node of the cluster rejected the proof that this node knows `node.secret`.
 *
 * @remedy Set the same `node.secret` on all nodes, and `node.tls` on all or none.
 */
export class NodeRefusedError extends GatewayError {
  readonly code = 'ERR_NODE_REFUSED';
}

/**
 * Bug of the gateway.
 *
 * @remedy Report it, with the message and the lines of the log at that time.
 */
export class InternalError extends GatewayError {
  readonly code = 'ERR_INTERNAL';
  override readonly rpcCode = -32603;
}

/**
 * Overlapping edits in one message, which is a bug of the gateway. The message was not sent.
 *
 * @remedy Report it, with the message of the error.
 */
export class EditConflictError extends GatewayError {
  readonly code = 'ERR_EDIT_CONFLICT';
  override readonly rpcCode = -32603;
  constructor(conflict: string) {
    super(`the gateway could not edit a message, and has not sent it: ${conflict}; please report this`);
  }
}

/**
 * Invalid query, header or body; the message contains the reason.
 *
 * @remedy Correct the value that the message describes.
 */
export class InvalidQueryError extends GatewayError {
  readonly code = 'ERR_INVALID_QUERY';
  override readonly rpcCode = -32602;
}

/**
 * No trigger, agent, fleet, flow, run, delivery, approval, conversation or tool of that name.
 *
 * @remedy Use a name from the list that the message names, such as `GET /triggers`. Runs and deliveries are
 * deleted after their retention time.
 */
export class NotFoundError extends GatewayError {
  readonly code = 'ERR_NOT_FOUND';
}

/**
 * The tools of an agent exceed the limits of a request to a model; the message contains number and limit.
 *
 * @remedy Restrict them with `tools` of the agent or `tools.allow` of a server, then replay the event.
 */
export class TooManyToolsError extends GatewayError {
  readonly code = 'ERR_TOO_MANY_TOOLS';
  override readonly isUnsent = true;
}

/**
 * The person in `by` is not permitted to decide on the approval.
 *
 * @remedy Let a permitted person decide, or omit `by`: an operator may decide under their own name.
 */
export class ForbiddenError extends GatewayError {
  readonly code = 'ERR_FORBIDDEN';
}

/**
 * The object exists, but its state, type or settings do not allow the operation; or an `Idempotency-Key` was
 * used for a different request.
 *
 * @remedy Choose an operation that the state in the message allows. Disabled trigger: set `spec.enabled:
 * true`. Missing confirmation of a manual run: send `confirmed: true`. Used key: send a new key.
 */
export class ConflictError extends GatewayError {
  readonly code = 'ERR_CONFLICT';
}
