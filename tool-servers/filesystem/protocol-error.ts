// Protocol errors for resource requests: unlike tool calls, they cannot return a result with `isError`. Only
// messages meant for the caller are sent.

import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { logError } from '../stderr-log.ts';
import { ToolError } from '../tool-error.ts';

/** MCP error code for unknown resources. */
const RESOURCE_NOT_FOUND = -32002;

/** Error response. The error class of the SDK would add the code to the message. */
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

/** Returns the error for the client. Unexpected errors are logged and replaced by a general message. */
export function toProtocolError(error: unknown, uri: string | undefined): unknown {
  if (error instanceof ProtocolError) return error;
  if (error instanceof ToolError)
    return new ProtocolError(
      uri === undefined ? ErrorCode.InternalError : RESOURCE_NOT_FOUND,
      error.message,
      uri,
    );
  logError('resource request failed:', error);
  return new ProtocolError(
    ErrorCode.InternalError,
    'Internal error. See the log of the server (stderr).',
    undefined,
  );
}
