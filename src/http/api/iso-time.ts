// Times in the JSON of the API: ISO 8601, null where there is none.

export function isoTime(epochMs: number): string;
export function isoTime(epochMs: number | undefined): string | null;
export function isoTime(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : new Date(epochMs).toISOString();
}
