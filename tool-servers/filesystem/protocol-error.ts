// What goes wrong with a resource, as the protocol says it: resources have no results with `isError` as tools have.
// Only messages that are meant for the caller leave the process.

import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { complain } from '../complaint.ts';
import { ToolError } from '../tool-error.ts';

/** MCP: the code of a resource that is not there. */
const NOT_FOUND = -32002;

/** An answer in the protocol's own form; the SDK's class would put its code into the text a second time. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly code: number;
  readonly data: { uri: string } | undefined;

  constructor(code: number, message: string, uri: string | undefined) {
    super(message);
    this.code = code;
    this.data = uri === undefined ? undefined : { uri };
  }
}

/** Expected failures by their own words; of others the text stays here. */
export function protocolErrorOf(error: unknown, uri: string | undefined): unknown {
  if (error instanceof ProtocolError) return error;
  if (error instanceof ToolError)
    return new ProtocolError(uri === undefined ? ErrorCode.InternalError : NOT_FOUND, error.message, uri);
  complain('resources failed:', error);
  return new ProtocolError(
    ErrorCode.InternalError,
    'The server failed. Its log on stderr says why.',
    undefined,
  );
}
