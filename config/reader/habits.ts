// What people write by habit from other programs, and what it is called here: `port: 8080` is `listen_addr: 127.0.0.1:8080`.
// The tables are beside the schemas of their files (gateway-habits.ts, entry-habits.ts).
//
// HAB1 (A9)  advice repeats numbers, names of loopback and words of a list; no other text of a file.

import type { YamlTree } from './yaml-tree.ts';

/** What to write instead; undefined where nobody means anything by it. */
type Advice = (value: YamlTree) => string | undefined;

export interface Habits {
  /** Of keys that there are not: by the key in lower case, without `_` and `-`. */
  readonly names: Readonly<Record<string, Advice>>;
  /** Of fields whose value has another form: by the field. */
  readonly forms: Readonly<Record<string, Advice>>;
}

/** Of a key that there is not, in any of the usual spellings. */
export function nameAdvice({ names }: Habits, key: string, value: YamlTree): string | undefined {
  const plain = key.toLowerCase().replace(/[_-]/g, '');
  return Object.hasOwn(names, plain) ? names[plain]?.(value) : undefined;
}

/** Of a field whose value has not the form that it should have. */
export function formAdvice({ forms }: Habits, field: string, value: YamlTree): string | undefined {
  return Object.hasOwn(forms, field) ? forms[field]?.(value) : undefined;
}

/** `did you mean listen_addr? Write listen_addr: 127.0.0.1:8080` */
export function meant(field: string, instead?: string): string {
  return `did you mean ${field}?${instead === undefined ? '' : ` Write ${instead}`}`;
}

/** Of a scalar, as it was written. */
export function scalarText(tree: YamlTree): string {
  return tree.kind === 'scalar' ? String(tree.value ?? '') : '';
}

export function numberIn(tree: YamlTree): number | undefined {
  const text = scalarText(tree).trim();
  return /^\d{1,9}(?:\.\d{1,3})?$/.test(text) ? Number(text) : undefined;
}

const secondsIn: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, min: 60, h: 3600, d: 86_400 };

/** A duration as people write it in the place of a number: `30s`, `5 min`. */
export function secondsOf(tree: YamlTree): number | undefined {
  const [, number = '', unit = ''] =
    /^(\d{1,9}(?:\.\d{1,3})?) ?(ms|s|m|min|h|d)$/.exec(scalarText(tree)) ?? [];
  const factor = Object.hasOwn(secondsIn, unit) ? secondsIn[unit] : undefined;
  return factor === undefined ? undefined : Number((Number(number) * factor).toFixed(3));
}

/** Of a field that is a number whose unit is in its name. */
export function unitAdvice(path: string, value: YamlTree): string | undefined {
  const seconds = secondsOf(value);
  const [, field, unit] = /([A-Za-z_]+_(ms|seconds))$/.exec(path) ?? [];
  if (seconds === undefined || field === undefined) return undefined;
  return `the unit is in the name; write ${field}: ${unit === 'ms' ? seconds * 1000 : seconds}`;
}
