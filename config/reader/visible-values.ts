// Decides which values of variables may be shown. All other values are redacted as secrets in every message,
// so an ordinary word must not count as a secret: messages would lose it (A9, ARCHITECTURE.md).
//
// A value is shown only if its schema gives a reason: the gateway itself shows the name or path (`shownAs`),
// it is an address without possible keys, or it is a valid number, boolean or enum value. Invalid values, and
// variables with a credential name, are secrets. Values of `writeOnly` fields are always secrets.

import { isCredentialName } from '../credentials/credential-names.ts';
import type { SchemaNode } from './schema-descriptions.ts';

/** Variables that every local server receives: paths and names of the machine. */
const machineVariables: ReadonlySet<string> = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'LANG', 'TZ', 'TMPDIR', 'PWD', 'HOSTNAME'],
  ...['TEMP', 'TMP', 'USERPROFILE', 'USERNAME', 'APPDATA', 'LOCALAPPDATA', 'ProgramData', 'ProgramFiles'],
]);

interface FieldValue {
  readonly schema: SchemaNode;
  /** Substituted text of the whole field. */
  readonly text: string;
  /** True if the schema accepts the text. */
  readonly isAccepted: boolean;
}

/**
 * Returns true if the value of the variable `name` may be shown. `text` may still be secret because of its
 * field.
 */
export function mayShowVariable(name: string, { schema, text, isAccepted }: FieldValue): boolean {
  if (machineVariables.has(name)) return true;
  if (schema.writeOnly === true || !isAccepted || isCredentialName(name)) return false;
  if (schema.shownAs === 'address') return isBareAddress(text);
  return schema.shownAs === 'name' || schema.type !== 'string';
}

/** Common path segments. Other segments, user names, queries and fragments may contain a key. */
const usualSegment = /^(?:v\d{1,2}(?:(?:alpha|beta)\d{0,2})?|api|mcp|sse|rest|openai|anthropic|)$/;

export function isBareAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password, search, hash, pathname } = new URL(text);
  return (
    [username, password, search, hash].every((part) => part === '') &&
    pathname.split('/').every((segment) => usualSegment.test(segment))
  );
}
