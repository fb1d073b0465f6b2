// Access control for anonymous senders. If there is no API key, every local program is anonymous, including tools that can send
// requests.
//
// - requests other than reads require operator access, unless the route declares `client` access.
// - if a loaded file guards calls, anonymous clients are refused, so no address bypasses a policy.

import type { Principal, Refusal } from '../../actors/identity/principal.ts';
import type { CallGuard } from '../../config/resources/call-guards.ts';

/** `read`: state of the gateway; `client`: servers, as an MCP client; `operator`: everything else. */
export type RouteAccess = 'read' | 'client' | 'operator';

/** Both ways to authenticate as the operator. */
export const OPERATOR_PROOF =
  'send the operator token (the file operator-token in state_dir) as Authorization: Bearer TOKEN, or set api_key in the gateway file';

/** Returns the access required by a method; `declared` is the route table entry. */
export function accessOf(method: string, declared?: RouteAccess): RouteAccess {
  return declared ?? (method === 'GET' || method === 'HEAD' ? 'read' : 'operator');
}

/** Returns why a sender is refused, or undefined if it is admitted. `guard` is the one in the loaded files. */
export function refusalOf(
  { kind }: Principal,
  access: RouteAccess,
  guard: CallGuard | undefined,
): Refusal | undefined {
  if (kind !== 'anonymous' || access === 'read') return undefined;
  if (access === 'operator') return missing('this needs the operator');
  return (
    guard && missing(`${guard.kind} ${guard.name} guards calls (${guard.rule}), so clients must authenticate`)
  );
}

const missing = (what: string): Refusal => ({ refused: 'missing', why: `${what}: ${OPERATOR_PROOF}` });
