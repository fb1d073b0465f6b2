// Failures of a child whose cause is outside the child, such as the departure of the node that runs a server.
// The restart policy does not count them: parking the child would not help.

import { causesOf } from './error-causes.ts';

/** An error whose cause is outside the child. */
export interface ExternalFailure {
  readonly isExternal: true;
}

/** Returns true if the error or one of its causes is outside the child. */
export function isExternal(error: unknown): boolean {
  for (const cause of causesOf(error))
    if ((cause as Partial<ExternalFailure>).isExternal === true) return true;
  return false;
}
