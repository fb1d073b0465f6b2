// Which values of variables are no secrets. Every other one is, as is all that stands in a field whose schema says so: what is a
// secret in one place is struck everywhere, so a name that were taken for one would be missing in each message.
//
// SHV1 (A9)  a value is shown only where its schema gives a reason: the field is a name or a path that the gateway itself tells
//           (`shownAs`), an address without anything that could be a key, or a number, a switch or a word of a list that fits. Where
//           the value does not fit, or the name of its variable is that of a key, it is a secret.
// SHV2       what a field takes whose schema is `writeOnly` is a secret, whatever variable it came from.

import { isCredentialName } from '../credentials/credential-names.ts';
import type { SchemaNode } from './schema-words.ts';

/** Of every user, and passed on to every local server: paths and names of the machine. */
const ofTheMachine: ReadonlySet<string> = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'LANG', 'TZ', 'TMPDIR', 'PWD', 'HOSTNAME'],
  ...['TEMP', 'TMP', 'USERPROFILE', 'USERNAME', 'APPDATA', 'LOCALAPPDATA', 'ProgramData', 'ProgramFiles'],
]);

interface Found {
  readonly schema: SchemaNode;
  /** What became of the whole field. */
  readonly text: string;
  /** Whether the schema takes it. */
  readonly isGood: boolean;
}

/** Whether the value of the variable `name` may be shown; what the field itself says of `text` is another matter (SHV2). */
export function isShown(name: string, { schema, text, isGood }: Found): boolean {
  if (ofTheMachine.has(name)) return true;
  if (schema.writeOnly === true || !isGood || isCredentialName(name)) return false;
  if (schema.shownAs === 'address') return isBareAddress(text);
  return schema.shownAs === 'name' || schema.type !== 'string';
}

/** Segments of a path that many servers have. A key may stand in any other, and in a user name, a query or a fragment. */
const usualSegment = /^(?:v\d{1,2}(?:(?:alpha|beta)\d{0,2})?|api|mcp|sse|rest|openai|anthropic|)$/;

export function isBareAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password, search, hash, pathname } = new URL(text);
  return (
    [username, password, search, hash].every((part) => part === '') &&
    pathname.split('/').every((segment) => usualSegment.test(segment))
  );
}
