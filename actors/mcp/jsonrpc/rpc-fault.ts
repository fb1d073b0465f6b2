// An error in the words of JSON-RPC 2.0: what was wrong with a message, by code. Server errors never become one;
// they are forwarded as received.

/** Codes of JSON-RPC 2.0 section 5.1, and those MCP adds. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  serverError: -32000,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  urlElicitationRequired: -32042,
} as const;

export class RpcFault extends Error {
  readonly code: number;
  /** Raw JSON of the id of the message in question, where it could be read. */
  readonly rawId: string | undefined;
  readonly data: Record<string, unknown> | undefined;
  constructor(code: number, message: string, rawId?: string, data?: Record<string, unknown>) {
    super(message);
    this.code = code;
    this.rawId = rawId;
    this.data = data;
  }
}

/** The message may be what it seems, but is nested deeper than anybody reads. */
export class TooDeepFault extends RpcFault {}
