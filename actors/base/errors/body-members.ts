// Reads the members of a body of JSON, which comes from outside, so that a mistake gets an answer.

import { InvalidQueryError } from './errors.ts';

export type Members = Readonly<Record<string, unknown>>;

/** Seconds that a request may wait for the end of what it begins. */
const MAX_WAIT_SECONDS = 600;

/** `at` is what it is called: `the body`. Throws InvalidQueryError for what is no object, or has other members. */
export function membersOf(value: unknown, at: string, known: readonly string[]): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidQueryError(`${at} should be an object with ${known.join(', ')}`);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return value as Members;
  const name = JSON.stringify(unknown.slice(0, 40));
  throw new InvalidQueryError(`${at} has a member ${name}, which is none of ${known.join(', ')}`);
}

/** Of `wait_seconds`, 0 where it is left out. Throws InvalidQueryError. */
export function waitSecondsIn({ wait_seconds = 0 }: Members): number {
  if (typeof wait_seconds === 'number' && wait_seconds >= 0 && wait_seconds <= MAX_WAIT_SECONDS)
    return wait_seconds;
  throw new InvalidQueryError(`wait_seconds should be a number from 0 to ${MAX_WAIT_SECONDS}`);
}
