// Validates query parameters.

import { InvalidQueryError } from './errors.ts';

/** Returns the values by name. Throws InvalidQueryError for names outside `allowed`. */
export function parseQuery(query: string, allowed: readonly string[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (!allowed.includes(name))
      throw new InvalidQueryError(
        `unknown parameter ${JSON.stringify(name.slice(0, 40))}; valid parameters: ${allowed.join(', ')}`,
      );
    values.set(name, value);
  }
  return values;
}

/** Returns the text if it is one of `choices`. Throws InvalidQueryError. */
export function parseChoice<Choice extends string>(
  name: string,
  choices: readonly Choice[],
  text: string,
): Choice {
  const match = choices.find((each) => each === text.trim());
  if (match !== undefined) return match;
  throw new InvalidQueryError(
    `${name}: unknown value ${JSON.stringify(text.slice(0, 40))}; valid values: ${choices.join(', ')}`,
  );
}

/** Parses a whole number from `min` to `max`. Throws InvalidQueryError for any other text. */
export function parseWholeNumber(name: string, text: string, max: number, min = 1): number {
  const value = Number(text);
  if (/^[0-9]+$/.test(text) && value >= min && value <= max) return value;
  throw new InvalidQueryError(`${name} should be a whole number from ${min} to ${max}`);
}

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a duration such as `90d` or `0s`, up to `maxMs`. Throws InvalidQueryError. */
export function parseDuration(name: string, value: unknown, maxMs: number): number {
  const [, count, unit = ''] = typeof value === 'string' ? (/^([0-9]{1,9})([smhd])$/.exec(value) ?? []) : [];
  const ms = Number(count) * (units[unit] ?? 0);
  if (ms <= maxMs) return ms;
  throw new InvalidQueryError(
    `${name} should be a duration such as 30s, 15m, 24h or 90d, and at most ${maxMs / (units.d ?? 1)}d`,
  );
}

/**
 * Parses the parameter `since`: an ISO time, or a duration before `now` (`15m`). Returns epoch milliseconds.
 * Throws InvalidQueryError.
 */
export function parseTime(text: string, now: number): number {
  const ago = /^([0-9]{1,6})([smhd])$/.exec(text);
  if (ago !== null) return now - Number(ago[1]) * (units[ago[2] ?? ''] ?? 0);
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(at)) return at;
  throw new InvalidQueryError(
    'since should be a time such as 2026-11-21T10:00:00Z, or a duration such as 15m, 12h, 3d',
  );
}
