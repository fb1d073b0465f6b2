// Lists the environment variables that configuration files require, by their references `${NAME}`.

import { parse } from 'yaml';

const reference = /(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Returns the referenced variables in order, except variables with a default. */
export function referencesIn(text: string): string[] {
  return [...text.matchAll(reference)].map(([, name = '']) => name);
}

/** Like `referencesIn`, for a YAML or JSON file; ignores comments. */
export function referencesInFile(text: string): string[] {
  return referencesIn(JSON.stringify(parse(text)) ?? '');
}

/** Returns true if the text contains references, and the rest of the text matches `restPattern`. */
export function isReference(text: string, restPattern: RegExp): boolean {
  return referencesIn(text).length > 0 && restPattern.test(text.replace(reference, ''));
}
