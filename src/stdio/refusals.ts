// Errors for lines that cannot be taken, as messages.

import { GatewayError } from '../../actors/base/errors/errors.ts';
import { errorMessage } from '../../actors/mcp/jsonrpc/compose.ts';
import { RpcFault, rpcCodes } from '../../actors/mcp/jsonrpc/rpc-fault.ts';

/** The answer to a message that could not be taken; `rawId` is '' where it is not known. Throws what is a fault of ours. */
export function refusal(error: unknown, rawId: string, redact: (text: string) => string): Buffer {
  const id = rawId === '' ? undefined : rawId;
  if (error instanceof RpcFault)
    return errorMessage(error.rawId ?? id, error.code, error.message, error.data);
  if (error instanceof GatewayError)
    return errorMessage(id, error.rpcCode, redact(error.message), error.data);
  throw error;
}

/** The answer to a line of `size` bytes, more than `limit`. Its id was never checked, and is echoed only if it is JSON. */
export function oversizedRefusal(size: number, limit: number, rawId: string | undefined): Buffer {
  const message = `the message has ${size} bytes, more than limits.body_bytes (${limit})`;
  return errorMessage(
    rawId !== undefined && isJson(rawId) ? rawId : undefined,
    rpcCodes.invalidRequest,
    message,
  );
}

export function isJson(raw: string): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(raw, 'latin1')));
    return true;
  } catch {
    return false;
  }
}
