// Extracts credentials from a configured value. All occurrences of credentials are redacted, and a false positive corrupts messages.
//
// CRV1  a credential has at least MIN_CREDENTIAL_LENGTH characters and is no word, number, path or host (plain-values.ts).
// CRV2  host and port in URLs stay readable; only password, parameters and opaque path segments are credentials.

import { isCredentialName } from './credential-names.ts';
import { isPhrase, isPlainValue, MIN_CREDENTIAL_LENGTH } from './plain-values.ts';

/**
 * Value origin: `named` for a secret field or a credential name, `supplied` for a variable or a header, `literal`
 * for plain text in the file.
 */
export type Origin = 'named' | 'supplied' | 'literal';

interface Part {
  readonly text: string;
  readonly origin: Origin;
}

/** Returns the distinct credentials in a value: the whole value or its parts. */
export function credentialsIn(value: string, origin: Origin): readonly string[] {
  const parts = [...namedParts(value), ...(origin === 'literal' ? [] : suppliedParts(value, origin))];
  return [...new Set(parts.filter(isCredential).map(({ text }) => text))];
}

function isCredential({ text, origin }: Part): boolean {
  if (text.length < MIN_CREDENTIAL_LENGTH || isPlainValue(text)) return false;
  return origin === 'named' || !isPhrase(text);
}

/** Matches `scheme://user:password@host` and Go's `user:password@tcp(host)`. */
const passwords = [/:\/\/[^\s/?#:]*:([^\s/?#]+)@/g, /(?:^|\s)[^\s:/@]+:(\S+)@(?:tcp|unix)\(/g];
/** Matches `name=value` and `name: value`. The value is a lookahead because it may contain a second pair. */
const pair =
  /(?<![\w./])([A-Za-z_][\w.-]*)["']?\s*(?:=|:(?!\/\/))(?=\s*(?:"([^"]+)"|'([^']+)'|((?:(?:Bearer|Basic|Token)\s+)?[^\s"'&;,{}]+)))/gi;

/** Longest value to search for pairs; search time is quadratic. */
const MAX_SEARCHED = 16_384;

/** Returns passwords and values under credential names. */
function namedParts(value: string): Part[] {
  if (value.length > MAX_SEARCHED) return [];
  const found = passwords.flatMap((pattern) => [...value.matchAll(pattern)].map(([, text = '']) => text));
  for (const [, name = '', double, single, bare] of value.matchAll(pair))
    if (isCredentialName(name)) found.push(...withoutScheme(double ?? single ?? bare ?? ''));
  return found.flatMap(withDecoded).map((text) => ({ text, origin: 'named' }));
}

const address = /^[a-z][a-z0-9+.-]*:\/\/(?:([^/?#\s]*)@)?[^/?#\s]*([^?#\s]*)(?:\?([^#\s]*))?(?:#(\S*))?$/i;

/** Returns the whole value and each line, or the URL parts except the host. */
function suppliedParts(value: string, origin: Origin): Part[] {
  const parsed = address.exec(value.trim());
  if (parsed === null) {
    const lines = value.split(/\r?\n/).map((line) => line.trim());
    return [value, ...lines].flatMap(withoutScheme).map((text) => ({ text, origin }));
  }
  const [, user = '', path = '', query = '', hash = ''] = parsed;
  const parameters = query.split('&').map((each) => each.slice(each.indexOf('=') + 1));
  const parts = [user.includes(':') ? '' : user, ...path.split('/'), ...parameters, hash];
  return parts.flatMap(withDecoded).map((text) => ({ text, origin: 'supplied' }));
}

/** Returns `Bearer abc` and `abc`. */
function withoutScheme(text: string): string[] {
  const credentials = /^[A-Za-z][\w-]*\s+(\S.*)$/.exec(text.trim())?.[1];
  return credentials === undefined ? [text] : [text, credentials];
}

/** Returns a URL part in encoded and decoded form. */
function withDecoded(text: string): string[] {
  try {
    return [text, decodeURIComponent(text)];
  } catch {
    return [text];
  }
}
