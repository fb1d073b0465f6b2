// Creates JSON-RPC error responses to lines of stdin that cannot be handled.

import { GatewayError } from '../../actors/base/errors/errors.ts';
import { errorMessage } from '../../actors/mcp/jsonrpc/compose.ts';
import { RpcFault, rpcCodes } from '../../actors/mcp/jsonrpc/rpc-fault.ts';

/**
 * Returns the response when a message has caused an error. `rawId` is the JSON text of the message's id;
 * '' if unknown. Rethrows internal errors.
 */
export function errorResponse(error: unknown, rawId: string, redact: (text: string) => string): Buffer {
  const id = rawId === '' ? undefined : rawId;
  if (error instanceof RpcFault)
    return errorMessage(error.rawId ?? id, error.code, error.message, error.data);
  if (error instanceof GatewayError)
    return errorMessage(id, error.rpcCode, redact(error.message), error.data);
  throw error;
}

/**
 * Returns the error response to an oversized line, which is not parsed. `rawId` is the text found at the
 * position of the id; the response contains it only if it is JSON.
 */
export function oversizedResponse(size: number, limit: number, rawId: string | undefined): Buffer {
  const message = `the message has ${size} bytes, more than limits.body_bytes (${limit})`;
  return errorMessage(
    rawId !== undefined && isJson(rawId) ? rawId : undefined,
    rpcCodes.invalidRequest,
    message,
  );
}

/** `raw` contains one byte per character. */
export function isJson(raw: string): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(raw, 'latin1')));
    return true;
  } catch {
    return false;
  }
}
