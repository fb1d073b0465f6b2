// Decides what an anonymous sender may do. Without an API key every program on this machine is one, and so is each tool
// that can send a request.
//
// RA1  a request that changes or decides anything needs the operator, unless the route table says `client` of its route.
// RA2  while a loaded file guards calls, anonymous clients are refused: no address leads past a policy.

import type { Principal, Refusal } from '../../actors/principal.ts';
import type { CallGuard } from '../../config/resources/call-guards.ts';

/** What a route offers: to `read` state, to use servers as an MCP `client`, or to do what the `operator` decides. */
export type RouteAccess = 'read' | 'client' | 'operator';

/** Names both ways to prove to be the operator. */
export const OPERATOR_PROOF =
  'send the operator token (the file operator-token in state_dir) as Authorization: Bearer TOKEN, or set api_key in the gateway file';

/** Returns the access that a method of a route needs; `declared` is that of the route table. */
export function accessOf(method: string, declared?: RouteAccess): RouteAccess {
  return declared ?? (method === 'GET' || method === 'HEAD' ? 'read' : 'operator');
}

/** Returns the reason for which a sender is refused; undefined where it is admitted. `guard` is of the loaded files. */
export function refusalOf(
  { kind }: Principal,
  access: RouteAccess,
  guard: CallGuard | undefined,
): Refusal | undefined {
  if (kind !== 'anonymous' || access === 'read') return undefined;
  if (access === 'operator') return missing('this needs the operator');
  return (
    guard && missing(`${guard.kind} ${guard.name} guards calls (${guard.rule}), so that clients need a proof`)
  );
}

const missing = (what: string): Refusal => ({ refused: 'missing', why: `${what}: ${OPERATOR_PROOF}` });
