// Parses the answer to a request of the gateway's own, where a value is needed and bytes are not enough.

import { UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';

/** The result of an own request, parsed; an error answer is thrown as UpstreamProtocolError. */
export function resultOf(server: string, method: string, answer: Envelope): Record<string, unknown> {
  if (answer.error !== undefined) throw refusalOf(server, method, answer);
  const result = answer.parse(answer.result);
  if (typeof result !== 'object' || result === null || Array.isArray(result)) {
    throw new UpstreamProtocolError(`server ${server} answered ${method} with a result that is no object`);
  }
  return result as Record<string, unknown>;
}

/** What an error answer comes to. */
export function refusalOf(server: string, method: string, answer: Envelope): UpstreamProtocolError {
  const error = answer.parse(answer.error) as { code?: unknown; message?: unknown } | null;
  return new UpstreamProtocolError(
    `server ${server} answered ${method} with error ${String(error?.code)}: ${String(error?.message).slice(0, 300)}`,
  );
}
