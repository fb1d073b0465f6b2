// The argument of an option that gives a parameter: `version=1.2.3`.

import { InvalidArgumentError } from 'commander';

/** Adds it to those that were given before. Throws InvalidArgumentError. */
export function keyValue(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected key=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}
