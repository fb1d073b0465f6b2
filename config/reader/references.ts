// The variables of the environment that a configuration file cannot do without.

import { parse } from 'yaml';

const reference = /(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** The variables a text refers to, in order; those with a default are left out. */
export function referencesIn(text: string): string[] {
  return [...text.matchAll(reference)].map(([, name = '']) => name);
}

/** As `referencesIn`, for the text of a YAML or JSON file: what stands in a comment does not count. */
export function referencesInFile(text: string): string[] {
  return referencesIn(JSON.stringify(parse(text)) ?? '');
}

/** Whether nothing but a reference, and what `isFrame` allows around it, stands in the text. */
export function isReference(text: string, isFrame: RegExp): boolean {
  return referencesIn(text).length > 0 && isFrame.test(text.replace(reference, ''));
}
