// Every way in which the gateway itself can fail a request, as classes with a stable `code`.
// `rpcCode` is the JSON-RPC error code a client sees; the HTTP status is mapped in src/http/status.ts only.
// A message says what happened, where, and what to do about it; it never carries a secret.

export abstract class GatewayError extends Error {
  abstract readonly code: string;
  /** JSON-RPC error code; the gateway's own conditions use -32000…-32019, which the specification leaves free. */
  readonly rpcCode: number = -32000;
  /** When to try again, in whole seconds; becomes the `Retry-After` header. */
  readonly retryAfterSeconds: number | undefined = undefined;
  /** The server has certainly not been asked: to ask again repeats nothing. False where nobody knows. */
  readonly isUnsent: boolean = false;
  /** The message quotes a server and is redacted with the server's own credentials. */
  readonly isQuote: boolean = false;
  /** Members for the `data` of a JSON-RPC error. */
  get data(): Record<string, unknown> {
    return { reason: this.code };
  }
  /** Returns the message for a client. Redacting a quote again would let clients guess other credentials (redacted-error.ts, XE4). */
  messageFor(redact: (text: string) => string): string {
    return this.isQuote ? this.message : redact(this.message);
  }
  override get name(): string {
    return this.constructor.name;
  }
}

/** Work in flight and work waiting are both at their bound (A8). */
export class OverloadedError extends GatewayError {
  readonly code = 'ERR_OVERLOADED';
  override readonly retryAfterSeconds = 1;
}

/** The server is parked after too many failures, switched off, or has no room; `retryAt` in epoch milliseconds. */
export class UnavailableError extends GatewayError {
  readonly code = 'ERR_UNAVAILABLE';
  override readonly retryAfterSeconds: number;
  constructor(message: string, retryAfterSeconds: number, options?: ErrorOptions) {
    super(message, options);
    this.retryAfterSeconds = Math.max(1, Math.ceil(retryAfterSeconds));
  }
}

/** The store of events cannot be read or written now; nothing that was refused with this was acknowledged. */
export class StoreUnavailableError extends GatewayError {
  readonly code = 'ERR_STORE_UNAVAILABLE';
  override readonly retryAfterSeconds = 5;
}

/** The same for want of room on its disk: it may be opened as soon as there is some. */
export class StoreFullError extends StoreUnavailableError {}

/** The server could not be started; `stderrTail` holds its last lines, already redacted. */
export class StartFailedError extends GatewayError {
  readonly code = 'ERR_START_FAILED';
  readonly stderrTail: readonly string[];
  constructor(message: string, stderrTail: readonly string[] = [], options?: ErrorOptions) {
    super(message, options);
    this.stderrTail = stderrTail;
  }
}

/** The server did not finish starting within `start_timeout_seconds`. */
export class StartTimeoutError extends GatewayError {
  readonly code = 'ERR_START_TIMEOUT';
}

/** Says of `cause` that the request was certainly not sent; in everything else it is what that is. */
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

/** A request ran past its deadline. */
export class DeadlineError extends GatewayError {
  readonly code = 'ERR_DEADLINE';
  override readonly rpcCode = -32001;
}

/** The connection that carried a request ended before its answer came. The request may have been carried out. */
export class ConnectionLostError extends GatewayError {
  readonly code = 'ERR_CONNECTION_LOST';
}

/** A remote server no longer knows our session (HTTP 404): the request was certainly not carried out. */
export class SessionExpiredError extends GatewayError {
  readonly code = 'ERR_UPSTREAM_SESSION_EXPIRED';
}

/** The server answered something that is not the protocol, or refused us (HTTP status other than 2xx). */
export class UpstreamProtocolError extends GatewayError {
  readonly code = 'ERR_UPSTREAM_PROTOCOL';
  override readonly isQuote = true;
  /** The HTTP status it refused with, where that is what was wrong. */
  readonly status: number | undefined;
  constructor(message: string, options?: ErrorOptions & { readonly status?: number }) {
    super(message, options);
    this.status = options?.status;
  }
}

/** One message is larger than `limits.message_bytes`. */
export class MessageTooLargeError extends GatewayError {
  readonly code = 'ERR_MESSAGE_TOO_LARGE';
}

/** No server of that name is in the catalog. */
export class UnknownServerError extends GatewayError {
  readonly code = 'ERR_UNKNOWN_SERVER';
  override readonly isUnsent = true;
}

/** The task does not exist, or another client created it. */
export class UnknownTaskError extends GatewayError {
  readonly code = 'ERR_UNKNOWN_TASK';
  override readonly rpcCode = -32602;
  override readonly isUnsent = true;
  constructor() {
    super('Failed to retrieve task: Task not found');
  }
}

/** No profile of that name is in the gateway file. */
export class UnknownProfileError extends GatewayError {
  readonly code = 'ERR_UNKNOWN_PROFILE';
  override readonly isUnsent = true;
}

/** The client session has ended; its client should initialise again. */
export class SessionGoneError extends GatewayError {
  readonly code = 'ERR_SESSION_GONE';
  override readonly rpcCode = -32001;
}

/** The request was stopped because the server, or the gateway, is being stopped. */
export class StoppedError extends GatewayError {
  readonly code = 'ERR_STOPPED';
  override readonly retryAfterSeconds = 1;
}

/** The state folder, or the address, belongs to another running gateway. */
export class AlreadyHeldError extends GatewayError {
  readonly code = 'ERR_ALREADY_HELD';
}

/** Another node of the cluster does not take the proof of this one. */
export class NodeRefusedError extends GatewayError {
  readonly code = 'ERR_NODE_REFUSED';
}

/** A mistake of the gateway's own; the log has the details. */
export class InternalError extends GatewayError {
  readonly code = 'ERR_INTERNAL';
  override readonly rpcCode = -32603;
}

/** Overlapping edits in one message, an internal fault. The message was not sent. */
export class EditConflictError extends GatewayError {
  readonly code = 'ERR_EDIT_CONFLICT';
  override readonly rpcCode = -32603;
  constructor(conflict: string) {
    super(`the gateway could not edit a message, and has not sent it: ${conflict}; please report this`);
  }
}

/** What was asked in a query or a body is not understood; the message says what is. */
export class InvalidQueryError extends GatewayError {
  readonly code = 'ERR_INVALID_QUERY';
  override readonly rpcCode = -32602;
}

/** No trigger, agent or delivery of that name. */
export class NotFoundError extends GatewayError {
  readonly code = 'ERR_NOT_FOUND';
}

/** The servers of an agent offer more tools than a model can be told of; the message says how to narrow them. */
export class TooManyToolsError extends GatewayError {
  readonly code = 'ERR_TOO_MANY_TOOLS';
  override readonly isUnsent = true;
}

/** Whoever was named may not do that; an operator by their own name may. */
export class ForbiddenError extends GatewayError {
  readonly code = 'ERR_FORBIDDEN';
}

/** It is there, but its state does not allow what was asked. */
export class ConflictError extends GatewayError {
  readonly code = 'ERR_CONFLICT';
}
