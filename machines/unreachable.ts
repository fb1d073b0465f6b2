// Failures of remote servers that are away: nothing listens, the network or name is gone, or a proxy reports
// it. An attempt costs nothing and does no harm, so such a server may be tried again soon.

/** Number of errors of a cause chain that are searched. */
const MAX_CAUSES = 5;

/** An error of a request that did not reach its server. */
export interface Unreachable {
  readonly isUnreachable: boolean;
}

/** Returns true if the error or one of its causes shows that the server is away. */
export function isUnreachable(error: unknown): boolean {
  let cause = error as (Partial<Unreachable> & { readonly cause?: unknown }) | null | undefined;
  for (let depth = 0; depth < MAX_CAUSES && typeof cause === 'object' && cause !== null; depth += 1) {
    if (cause.isUnreachable === true) return true;
    cause = cause.cause as typeof cause;
  }
  return false;
}
