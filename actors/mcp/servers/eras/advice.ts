// Adds advice to errors of servers that seem to support another protocol era (legacy sessions, or stateless
// requests of 2026-07-28) than their catalog entry sets.

import { type GatewayError, UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import { isRefusal } from './probe.ts';

/** Error codes of modern servers, and "method not found". */
const notLegacy = /-3202[0-2]|-32601/;

/**
 * Returns the error of a handshake in `era`, with the setting to change if the server seems to support the
 * other era.
 */
export function withEraAdvice(era: Era, error: GatewayError): GatewayError {
  if (!(error instanceof UpstreamProtocolError) || !isRefusal(error)) return error;
  if (era === 'legacy' && !notLegacy.test(error.message)) return error;
  const [other, requirement] =
    era === 'legacy' ? ['modern', 'supports only revision 2026-07-28'] : ['legacy', 'requires sessions'];
  const { status } = error;
  return new UpstreamProtocolError(
    `${error.message}; if it ${requirement}, set \`era: ${other}\` or \`era: auto\` for it`,
    { cause: error, ...(status === undefined ? {} : { status }) },
  );
}
