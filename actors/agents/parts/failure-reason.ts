// Truncates error messages for the journal.

const MAX_REASON = 2_000;

export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.length <= MAX_REASON ? text : `${text.slice(0, MAX_REASON).toWellFormed()} […]`;
}
