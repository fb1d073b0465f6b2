// Role that a message of an MCP client requires: viewers only list, all other requests require the role user.
// Notifications and responses start no work, so they require no role.

import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import { memberOf } from '../../../actors/mcp/jsonrpc/members.ts';
import { refuse, roleRefusal } from '../identification.ts';
import type { ExchangeContext } from './exchange-context.ts';

/** Requests of viewers. */
const LISTING: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'logging/setLevel',
]);

/** If the sender lacks the role for the message, refuses it and returns true. */
export function refuseByRole(context: ExchangeContext, envelope: Envelope): boolean {
  if (context.principal.role !== 'viewer' || envelope.kind !== 'request' || isListing(envelope)) return false;
  const refusal = roleRefusal(context.principal, 'user');
  if (refusal === undefined) return false;
  refuse(context, refusal, envelope.rawId);
  return true;
}

function isListing(envelope: Envelope): boolean {
  if (envelope.method !== 'subscriptions/listen') return LISTING.has(envelope.method);
  // Changes of lists, but not of resources.
  const filter = envelope.parse(memberOf(envelope.bytes, envelope.params, 'notifications'));
  return typeof filter !== 'object' || filter === null || !('resourceSubscriptions' in filter);
}
