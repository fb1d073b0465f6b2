// What is at `/`: the way of a browser to the inspector, or where that is off a sentence in plain text. Whoever does not ask
// for a page of HTML gets what any other path without a route gets.
//
// FRD1  no key is asked for here, and nothing is told that depends on the configuration but whether there is an inspector.

import type { HeaderList, HttpRequest } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';

/** The same address answers others otherwise. */
const byAccept: HeaderList = [
  ['vary', 'Accept'],
  ['cache-control', 'no-store'],
];

const WITHOUT_INSPECTOR = `This is a gateway for MCP clients, which use /mcp.

Its page for browsers, the inspector, is off here. It is on where inspector.enabled of gateway.yaml is not false, and an
api_key is set or nobody but this machine can connect.
`;

/** Whether a browser asks for the page at `/`. */
export function isAtFrontDoor({ method, path, headers }: HttpRequest): boolean {
  if (path !== '/' || (method !== 'GET' && method !== 'HEAD')) return false;
  return /\btext\/html\b/i.test(headers.accept ?? '');
}

/** Answers that browser. */
export function openFrontDoor(context: ExchangeContext, hasInspector: boolean): void {
  if (hasInspector) context.empty(303, [...byAccept, ['location', '/inspector']]);
  else
    context.reply.send(
      404,
      context.headers([...byAccept, ['content-type', 'text/plain; charset=utf-8']]),
      WITHOUT_INSPECTOR,
    );
}
