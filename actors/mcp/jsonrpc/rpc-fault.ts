// A JSON-RPC 2.0 error of the gateway about a client's message. Errors of servers are forwarded as received
// and never become an RpcFault.

/** Codes of JSON-RPC 2.0, section 5.1, and of MCP. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** First code that the specification leaves to implementations. */
  serverError: -32000,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  urlElicitationRequired: -32042,
} as const;

export class RpcFault extends Error {
  readonly code: number;
  /** Id of the message as raw JSON; undefined if unreadable. */
  readonly rawId: string | undefined;
  readonly data: Record<string, unknown> | undefined;
  constructor(code: number, message: string, rawId?: string, data?: Record<string, unknown>) {
    super(message);
    this.code = code;
    this.rawId = rawId;
    this.data = data;
  }

  /** Returns the error with this id; unchanged if the error already has an id. */
  withId(rawId: string | undefined): RpcFault {
    return this.rawId === undefined ? new RpcFault(this.code, this.message, rawId, this.data) : this;
  }
}

/** A message that may be valid, but exceeds the maximum nesting depth. */
export class TooDeepFault extends RpcFault {}
