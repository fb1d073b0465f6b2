// Validates JSON bodies of API requests: members and `wait_seconds`. InvalidQueryError is the error for
// queries and bodies.

import { InvalidQueryError } from './errors.ts';

export type Members = Readonly<Record<string, unknown>>;

/**
 * Maximum of `wait_seconds`. The response is sent when the started operation is complete, but no later than
 * `wait_seconds`.
 */
const MAX_WAIT_SECONDS = 600;

/**
 * Returns the object with its members. `at` is the name of the object in errors, such as `the body`. Throws
 * InvalidQueryError if `value` is not an object, or has a member that is not in `allowed`.
 */
export function parseMembers(value: unknown, at: string, allowed: readonly string[]): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidQueryError(`${at} should be an object with ${allowed.join(', ')}`);
  const unknown = Object.keys(value).find((name) => !allowed.includes(name));
  if (unknown === undefined) return value as Members;
  const name = JSON.stringify(unknown.slice(0, 40));
  throw new InvalidQueryError(`${at} has an unknown member ${name}; valid members: ${allowed.join(', ')}`);
}

/** Returns `wait_seconds`, 0 if missing. Throws InvalidQueryError. */
export function parseWaitSeconds({ wait_seconds = 0 }: Members): number {
  if (typeof wait_seconds === 'number' && wait_seconds >= 0 && wait_seconds <= MAX_WAIT_SECONDS)
    return wait_seconds;
  throw new InvalidQueryError(`wait_seconds should be a number from 0 to ${MAX_WAIT_SECONDS}`);
}
