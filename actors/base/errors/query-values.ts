// Reads the values of a query, each within its bounds, so that a mistake gets an answer.

import { InvalidQueryError } from './errors.ts';

/** The values by their names. Throws InvalidQueryError for a name that is not among `known`. */
export function queryValues(query: string, known: readonly string[]): ReadonlyMap<string, string> {
  const asked = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (!known.includes(name))
      throw new InvalidQueryError(
        `there is no parameter ${JSON.stringify(name.slice(0, 40))}; there are ${known.join(', ')}`,
      );
    asked.set(name, value);
  }
  return asked;
}

/** Throws InvalidQueryError for any other word. */
export function oneOf<Word extends string>(name: string, words: readonly Word[], text: string): Word {
  const word = words.find((each) => each === text.trim());
  if (word !== undefined) return word;
  throw new InvalidQueryError(
    `${name}: there is no ${JSON.stringify(text.slice(0, 40))}; there are ${words.join(', ')}`,
  );
}

/** Throws InvalidQueryError for what is none, or out of its bounds. */
export function wholeNumber(name: string, text: string, most: number, least = 1): number {
  const value = Number(text);
  if (/^[0-9]+$/.test(text) && value >= least && value <= most) return value;
  throw new InvalidQueryError(`${name} should be a whole number from ${least} to ${most}`);
}

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `since` as epoch milliseconds: an ISO time, or `15m` before `now`. Throws InvalidQueryError for anything else. */
export function instant(text: string, now: number): number {
  const ago = /^([0-9]{1,6})([smhd])$/.exec(text);
  if (ago !== null) return now - Number(ago[1]) * (units[ago[2] ?? ''] ?? 0);
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(at)) return at;
  throw new InvalidQueryError(
    'since should be a time such as 2026-11-21T10:00:00Z, or a while ago such as 15m, 12h, 3d',
  );
}
