// Advice for keys and values from other programs: `port: 8080` is `listen_addr: 127.0.0.1:8080` here. The
// tables are next to the schemas of their files.
//
// Advice repeats only numbers, loopback names and enum values from a file (A9, ARCHITECTURE.md).

import type { YamlTree } from './yaml-tree.ts';

/** Returns a replacement, if any. */
type Advice = (value: YamlTree) => string | undefined;

export interface AliasAdvice {
  /** Advice for unknown keys: by key in lower case, without `_` and `-`. */
  readonly names: Readonly<Record<string, Advice>>;
  /** Advice for fields with a value in the wrong format: by field. */
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

const secondsIn: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, min: 60, h: 3600, d: 86_400 };

/** Parses a duration in seconds: `30s`, `5 min`. */
export function secondsOf(tree: YamlTree): number | undefined {
  const [, number = '', unit = ''] =
    /^(\d{1,9}(?:\.\d{1,3})?) ?(ms|s|m|min|h|d)$/.exec(scalarText(tree)) ?? [];
  const factor = Object.hasOwn(secondsIn, unit) ? secondsIn[unit] : undefined;
  return factor === undefined ? undefined : Number((Number(number) * factor).toFixed(3));
}

/** Returns advice for a numeric field with the unit in its name. */
export function unitAdvice(path: string, value: YamlTree): string | undefined {
  const seconds = secondsOf(value);
  const [, field, unit] = /([A-Za-z_]+_(ms|seconds))$/.exec(path) ?? [];
  if (seconds === undefined || field === undefined) return undefined;
  return `the field name contains the unit; write ${field}: ${unit === 'ms' ? seconds * 1000 : seconds}`;
}
