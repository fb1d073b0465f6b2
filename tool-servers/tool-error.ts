// Errors with messages for callers or operators. Messages of all other errors are only logged (tool.ts).

/**
 * Expected failure of a tool call. `message` states the problem and the remedy; it becomes the text of a
 * result with `isError`.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** Wrong command line or environment. `message` is written to stderr, and the process exits with code 2. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}
