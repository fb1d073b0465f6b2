// Advice for keys and values from other programs: `port: 8080` is `listen_addr: 127.0.0.1:8080` here. The
// tables are next to the schemas of their files.
//
// Advice appears in error messages, and a value of the file may be a credential. Advice therefore contains
// only numbers, loopback names and enum values from the file (A9, ARCHITECTURE.md).

import type { YamlTree } from './yaml-tree.ts';

/** Returns the advice on a key with this value, if any. */
type Advice = (value: YamlTree) => string | undefined;

export interface AliasAdvice {
  /** Advice for unknown keys, by key in lower case, without `_` and `-`. */
  readonly names: Readonly<Record<string, Advice>>;
  /** Advice for fields with a value in the wrong format, by field. */
  readonly forms: Readonly<Record<string, Advice>>;
}

/** Returns advice on an unknown key, regardless of case, `_` and `-`. */
export function nameAdvice({ names }: AliasAdvice, key: string, value: YamlTree): string | undefined {
  const plain = key.toLowerCase().replace(/[_-]/g, '');
  return Object.hasOwn(names, plain) ? names[plain]?.(value) : undefined;
}

/** Returns advice for a field with a value in the wrong format. */
export function formAdvice({ forms }: AliasAdvice, field: string, value: YamlTree): string | undefined {
  return Object.hasOwn(forms, field) ? forms[field]?.(value) : undefined;
}

/** Returns `did you mean listen_addr? Write listen_addr: 127.0.0.1:8080`. */
export function replacementAdvice(field: string, instead?: string): string {
  return `did you mean ${field}?${instead === undefined ? '' : ` Write ${instead}`}`;
}

/** Returns a scalar's text; '' for lists and mappings. */
export function scalarText(tree: YamlTree): string {
  return tree.kind === 'scalar' ? String(tree.value ?? '') : '';
}

export function numberIn(tree: YamlTree): number | undefined {
  const text = scalarText(tree).trim();
  return /^\d{1,9}(?:\.\d{1,3})?$/.test(text) ? Number(text) : undefined;
}

const durationParts: readonly (readonly [words: RegExp, seconds: number])[] = [
  [/^(?:ms|msecs?|milliseconds?)$/, 0.001],
  [/^(?:s|secs?|seconds?)$/, 1],
  [/^(?:m|mins?|minutes?)$/, 60],
  [/^(?:h|hrs?|hours?)$/, 3_600],
  [/^(?:d|days?)$/, 86_400],
  [/^(?:w|weeks?)$/, 604_800],
];

/** Parses a duration in seconds: `30s`, `5 min`, `1h30m`. */
export function secondsOf(tree: YamlTree): number | undefined {
  const text = scalarText(tree).trim().toLowerCase();
  if (!/^(?:\d{1,9}(?:\.\d{1,3})? ?[a-z]{1,12} ?){1,4}$/.test(text)) return undefined;
  let sum = 0;
  for (const [, number, word = ''] of text.matchAll(/([\d.]+) ?([a-z]+)/g)) {
    const factor = durationParts.find(([words]) => words.test(word))?.[1];
    if (factor === undefined) return undefined;
    sum += Number(number) * factor;
  }
  return Number(sum.toFixed(3));
}

const unitSeconds: Readonly<Record<string, number>> = {
  ms: 0.001,
  seconds: 1,
  minutes: 60,
  hours: 3_600,
  days: 86_400,
};

/** Returns advice for a numeric field with the unit in its name. */
export function unitAdvice(path: string, value: YamlTree): string | undefined {
  const seconds = secondsOf(value);
  const [, field, unit = ''] = /(?<!\w)((?:\w+_)?(ms|seconds|minutes|hours|days))$/.exec(path) ?? [];
  if (seconds === undefined || field === undefined) return undefined;
  const number = Number((seconds / (unitSeconds[unit] ?? 1)).toFixed(3));
  return `the field name contains the unit; write ${field}: ${number}`;
}
