// Formats times for JSON as ISO 8601; a missing time is null.

export function isoTime(epochMs: number): string;
export function isoTime(epochMs: number | undefined): string | null;
export function isoTime(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : new Date(epochMs).toISOString();
}
