// What goes wrong in a tool and is meant to be read by the model that called it: it says what was wrong and what to do.
// Only its message leaves the process; every other error is told to the operator alone (see tool.ts).

/** An expected failure of a tool call; `message` becomes the text of a result with `isError`. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** A program that cannot start as it was called; `message` goes to stderr, and the program ends with code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
