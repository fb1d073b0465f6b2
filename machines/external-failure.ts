// Two kinds of failures with a cause outside the supervised child actor. A property marks them: on the error
// itself, or on a cause. The restart policy treats the kinds differently:
//
// - External: the child itself is sound, for example when the node that runs a server has left the cluster.
//   Such failures do not count, because parking the child would not help.
// - Unreachable: a remote server is away: nothing listens, the network or name is gone, or a proxy reports
//   it. An attempt costs nothing and does no harm, so such a server is parked only briefly.

import { causesOf } from './error-causes.ts';

/** An error whose cause is outside the child. */
export interface ExternalFailure {
  readonly isExternal: true;
}

/** A request error before the request reached the server. */
export interface Unreachable {
  readonly isUnreachable: boolean;
}

/** Returns true if the error or any cause is outside the child. */
export function isExternal(error: unknown): boolean {
  return hasMark(error, 'isExternal');
}

/** Returns true if the error or any cause shows that the server is away. */
export function isUnreachable(error: unknown): boolean {
  return hasMark(error, 'isUnreachable');
}

function hasMark(error: unknown, mark: keyof ExternalFailure | keyof Unreachable): boolean {
  for (const cause of causesOf(error))
    if ((cause as Partial<ExternalFailure & Unreachable>)[mark] === true) return true;
  return false;
}
