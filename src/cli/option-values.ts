// Parsers for option values. They throw InvalidArgumentError, whose message commander prints after the
// option.

import { InvalidArgumentError } from 'commander';

/** Collects values from repeated options. */
export const collectValues = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  text,
];

/** Collects `key=value` pairs from repeated options. */
export function collectKeyValue(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected key=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Returns a parser for a number of seconds within two bounds. */
export function secondsParser(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected seconds, ${min} to ${max}.`);
  };
}

/** Returns a parser for names and ids. `meaning` describes the valid values. */
export function patternParser(pattern: RegExp, meaning: string): (text: string) => string {
  return (text) => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(`Expected ${meaning}.`);
  };
}

/** Parses an environment variable's name. */
export const parseVariableName = patternParser(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable');

/** Returns a parser for a whole number from 1 to `max`. */
export function countParser(max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= 1 && value <= max) return value;
    throw new InvalidArgumentError(`Expected a number, 1 to ${max}.`);
  };
}
