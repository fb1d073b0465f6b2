// Parses responses to requests of the gateway itself.

import { UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';

/** Returns the parsed result. Throws UpstreamProtocolError if the response is an error. */
export function resultOf(server: string, method: string, answer: Envelope): Record<string, unknown> {
  if (answer.error !== undefined) throw refusalOf(server, method, answer);
  const result = answer.parse(answer.result);
  if (typeof result !== 'object' || result === null || Array.isArray(result)) {
    throw new UpstreamProtocolError(
      `server ${server} answered ${method} with a result that is not an object`,
    );
  }
  return result as Record<string, unknown>;
}

/** Converts an error response. */
export function refusalOf(server: string, method: string, answer: Envelope): UpstreamProtocolError {
  const error = answer.parse(answer.error) as { code?: unknown; message?: unknown } | null;
  return new UpstreamProtocolError(
    `server ${server} answered ${method} with error ${String(error?.code)}: ${String(error?.message).slice(0, 300)}`,
  );
}
