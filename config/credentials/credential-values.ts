// Extracts credentials from a configured value. All occurrences of credentials in messages are redacted, and
// a false positive would make messages unreadable.
//
// - A credential has at least MIN_CREDENTIAL_LENGTH characters. For passwords in URLs this is the only
//   condition; plain-values.ts lists the exceptions for other values.
// - In URLs, host and port stay readable; user, password, parameters and opaque path segments are
//   credentials.

import { isCredentialName } from './credential-names.ts';
import { isOrdinaryText, isPlainValue, MIN_CREDENTIAL_LENGTH } from './plain-values.ts';

/**
 * Value origin: `named` for a secret field or a credential name, `supplied` for a variable or a header,
 * `literal` for plain text in the file.
 */
export type CredentialOrigin = 'named' | 'supplied' | 'literal';

interface CredentialPart {
  readonly text: string;
  readonly origin: CredentialOrigin | 'password';
}

/** Returns the distinct credentials in a value: the whole value or its parts. */
export function credentialsIn(value: string, origin: CredentialOrigin): readonly string[] {
  const parts = [...namedParts(value), ...(origin === 'literal' ? [] : suppliedParts(value, origin))];
  return [...new Set(parts.filter(isCredential).map(({ text }) => text))];
}

function isCredential({ text, origin }: CredentialPart): boolean {
  if (text.length < MIN_CREDENTIAL_LENGTH) return false;
  if (origin === 'password') return true;
  return origin === 'named' ? !isPlainValue(text) : !isOrdinaryText(text);
}

/**
 * A password may contain an unencoded `/`, `?` or `#`, unless the text before that is a port: `host:80/a@b`.
 */
const password = String.raw`[^\s/?#]+|(?!\d+[/?#])[^\s@]+`;
const passwords = [
  new RegExp(String.raw`://[^\s/?#:@[]*:(${password})@`, 'g'),
  // Database addresses of Go programs: `user:password@tcp(host)`.
  /(?:^|\s)[^\s:/@]+:(\S+)@(?:tcp|unix)\(/g,
];
/**
 * Matches `name=value` and `name: value`. The value is a lookahead, because a value can contain a second
 * pair.
 */
const pair =
  /(?<![\w./])([A-Za-z_][\w.-]*)["']?\s*(?:=|:(?!\/\/))(?=\s*(?:"([^"]+)"|'([^']+)'|((?:(?:Bearer|Basic|Token)\s+)?[^\s"'&;,{}]+)))/gi;

/** Maximum length of values in which pairs are searched, because the search time is quadratic. */
const MAX_SEARCHED = 16_384;

/** Returns passwords and values under credential names. */
function namedParts(value: string): CredentialPart[] {
  if (value.length > MAX_SEARCHED) return [];
  const secrets = passwords.flatMap((pattern) => [...value.matchAll(pattern)].map(([, text = '']) => text));
  const values: string[] = [];
  for (const [, name = '', double, single, bare] of value.matchAll(pair))
    if (isCredentialName(name)) values.push(...credentialForms(double ?? single ?? bare ?? ''));
  return [...partsOf(secrets, 'password'), ...partsOf(values, 'named')];
}

const address = new RegExp(
  String.raw`^[a-z][a-z0-9+.-]*://(?:([^/?#\s:@[]*)(?::(?:${password})?)?@)?[^/?#\s]*([^?#\s]*)(?:\?([^#\s]*))?(?:#(\S*))?$`,
  'i',
);

/** Returns the whole value and each line, or the URL parts except the host. */
function suppliedParts(value: string, origin: CredentialOrigin): CredentialPart[] {
  const parsed = address.exec(value.trim());
  if (parsed === null) {
    const lines = value.split(/\r?\n/).map((line) => line.trim());
    return [value, ...lines].flatMap(credentialForms).map((text) => ({ text, origin }));
  }
  const [, user = '', path = '', query = '', hash = ''] = parsed;
  const parameters = query.split('&').map((each) => each.slice(each.indexOf('=') + 1));
  // Parts of a URL are often ordinary words, also if the whole URL has a credential name.
  return partsOf([user, ...path.split('/'), ...parameters, hash], 'supplied');
}

/** These patterns match `Bearer abc` and `user:abc`, but neither URLs nor drive letters. */
const prefixed = [/^[A-Za-z][\w-]*\s+(\S.*)$/, /^[\w.@+-]+:(?!\/\/|\\)(\S+)$/];

/** Returns the text, and the last part after a scheme or user name. */
function credentialForms(text: string): string[] {
  return [text, ...prefixed.flatMap((pattern) => pattern.exec(text.trim())?.[1] ?? [])];
}

/** Returns each text in encoded and decoded form. */
function partsOf(texts: readonly string[], origin: CredentialPart['origin']): CredentialPart[] {
  return texts.flatMap(withDecoded).map((text) => ({ text, origin }));
}

function withDecoded(text: string): string[] {
  try {
    return [text, decodeURIComponent(text)];
  } catch {
    return [text];
  }
}
