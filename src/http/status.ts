// Maps errors to HTTP statuses; nothing else does.

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
  ERR_NOT_FOUND: 404,
  ERR_FORBIDDEN: 403,
  ERR_INVALID_QUERY: 400,
  ERR_CONFLICT: 409,
  ERR_STORE_UNAVAILABLE: 503,
};

/** HTTP status of an error of the gateway's own. */
export function statusOf(error: GatewayError): number {
  return byCode[error.code] ?? 500;
}

const byRefusal: Readonly<Record<Refusal['refused'], number>> = {
  missing: 401,
  wrong: 401,
  forbidden: 403,
  unavailable: 503,
};

/** HTTP status for whoever is not let in. */
export function statusOfRefusal(refused: Refusal['refused']): number {
  return byRefusal[refused];
}

/** HTTP status of a message that could not be taken: what a server would refuse itself is a 200 with an error in it. */
export function statusOfFault(fault: RpcFault): number {
  const isRefusal = fault.code === rpcCodes.methodNotFound || fault.code === rpcCodes.resourceNotFound;
  return isRefusal ? 200 : 400;
}

/** JSON-RPC code for refusals with this status, sent before the message is read. */
export function refusalCode(status: number): number {
  return status < 500 ? rpcCodes.invalidRequest : rpcCodes.serverError;
}

/** HTTP status of the answer to a modern request that failed with this code (2026-07-28, Streamable HTTP). */
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
