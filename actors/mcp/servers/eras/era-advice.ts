// The advice to the operator of a server whose catalog entry names an era that it does not speak.

import { type GatewayError, UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';
import { isRefusal } from './era-probe.ts';

/** Errors only a server of the modern era gives, and the one for a method that a server does not know. */
const notLegacy = /-3202[0-2]|-32601/;

/** The error of a failed introduction in `era`, with what to set instead where the server seems to speak the other. */
export function withEraAdvice(era: Era, error: GatewayError): GatewayError {
  if (!(error instanceof UpstreamProtocolError) || !isRefusal(error)) return error;
  if (era === 'legacy' && !notLegacy.test(error.message)) return error;
  const [other, what] =
    era === 'legacy' ? ['modern', 'speaks revision 2026-07-28 only'] : ['legacy', 'wants sessions'];
  const { status } = error;
  return new UpstreamProtocolError(
    `${error.message}; if it ${what}, set \`era: ${other}\` or \`era: auto\` for it`,
    { cause: error, ...(status === undefined ? {} : { status }) },
  );
}
