// Parsers of option values. Each throws InvalidArgumentError, whose message commander prints behind the option.

import { InvalidArgumentError } from 'commander';

/** Collects the values of a repeatable option. */
export const collected = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  text,
];

/** Collects `key=value` pairs of a repeatable option. */
export function keyValue(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected key=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Returns a parser of seconds between two bounds. */
export function seconds(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected seconds, ${least} to ${most}.`);
  };
}

/** Returns a parser of names and ids: `meaning` describes the values that match. */
export function matching(pattern: RegExp, meaning: string): (text: string) => string {
  return (text) => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(`Expected ${meaning}.`);
  };
}

/** Parses the name of an environment variable. */
export const variableName = matching(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable');

/** Parses a whole number from 1 to `most`. */
export function countUpTo(most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= 1 && value <= most) return value;
    throw new InvalidArgumentError(`Expected a number, 1 to ${most}.`);
  };
}
