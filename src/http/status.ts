// HTTP statuses of errors and refusals, for all routes.

import { STATUS_CODES } from 'node:http';
import type { GatewayError } from '../../actors/base/errors/errors.ts';
import type { Refusal } from '../../actors/identity/principal.ts';
import { type RpcFault, rpcCodes } from '../../actors/mcp/jsonrpc/rpc-fault.ts';

const byCode: Record<string, number> = {
  ERR_OVERLOADED: 503,
  ERR_UNAVAILABLE: 503,
  ERR_STOPPED: 503,
  ERR_START_FAILED: 502,
  ERR_CONNECTION_LOST: 502,
  ERR_UPSTREAM_SESSION_EXPIRED: 502,
  ERR_UPSTREAM_PROTOCOL: 502,
  ERR_MESSAGE_TOO_LARGE: 502,
  ERR_START_TIMEOUT: 504,
  ERR_DEADLINE: 504,
  ERR_UNKNOWN_SERVER: 404,
  ERR_UNKNOWN_PROFILE: 404,
  ERR_UNKNOWN_TASK: 404,
  ERR_SESSION_GONE: 404,
  ERR_PROCESS_LOST: 409,
  ERR_NOT_FOUND: 404,
  ERR_FORBIDDEN: 403,
  ERR_INVALID_QUERY: 400,
  ERR_CONFLICT: 409,
  ERR_STORE_UNAVAILABLE: 503,
  ERR_AUDIT_UNAVAILABLE: 503,
  ERR_INTERNAL: 500,
  ERR_EDIT_CONFLICT: 500,
};

/** Returns the HTTP status for a gateway error. */
export function statusOf(error: GatewayError): number {
  return byCode[error.code] ?? 500;
}

const byRefusal: Readonly<Record<Refusal['kind'], number>> = {
  missing: 401,
  wrong: 401,
  forbidden: 403,
  unavailable: 503,
};

/** Returns the HTTP status for a refused sender. */
export function statusOfRefusal(kind: Refusal['kind']): number {
  return byRefusal[kind];
}

/** Returns the HTTP status for invalid messages: 200 for errors that also an MCP server could return. */
export function statusOfFault(fault: RpcFault): number {
  const isRefusal = fault.code === rpcCodes.methodNotFound || fault.code === rpcCodes.resourceNotFound;
  return isRefusal ? 200 : 400;
}

/** Returns the JSON-RPC code for a request that is refused before its message is read. */
export function refusalCode(status: number): number {
  return status < 500 ? rpcCodes.invalidRequest : rpcCodes.serverError;
}

/** Returns the HTTP status for a failed modern request (2026-07-28, Streamable HTTP). */
export function statusOfCode(rpcCode: number): number {
  if (rpcCode === rpcCodes.methodNotFound) return 404;
  return badRequests.has(rpcCode) ? 400 : 200;
}

const badRequests: ReadonlySet<number> = new Set([
  rpcCodes.headerMismatch,
  rpcCodes.missingCapability,
  rpcCodes.unsupportedVersion,
  rpcCodes.invalidRequest,
  rpcCodes.parseError,
]);

export function reasonPhrase(status: number): string {
  return STATUS_CODES[status] ?? 'Error';
}
