/** Number of errors searched in a cause chain. */
const MAX_CAUSES = 5;

/** Yields the error and its causes, up to MAX_CAUSES, because a chain may be a cycle. */
export function* causesOf(error: unknown): Generator<object> {
  let cause = error as { readonly cause?: unknown } | null | undefined;
  for (let depth = 0; depth < MAX_CAUSES && typeof cause === 'object' && cause !== null; depth += 1) {
    yield cause;
    cause = cause.cause as typeof cause;
  }
}
