// Failures of remote servers that are away: nothing listens, the network or name is gone, or a proxy reports
// it. An attempt costs nothing and does no harm, so such a server may be tried again soon.

import { causesOf } from './error-causes.ts';

/** An error of a request that did not reach its server. */
export interface Unreachable {
  readonly isUnreachable: boolean;
}

/** Returns true if the error or one of its causes shows that the server is away. */
export function isUnreachable(error: unknown): boolean {
  for (const cause of causesOf(error))
    if ((cause as Partial<Unreachable>).isUnreachable === true) return true;
  return false;
}
