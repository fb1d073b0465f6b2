// The hash of a request that the tracker puts into its tokens (`qsh`), so that a token proves one address only: SHA-256 of method,
// path and query in the one spelling that the vendor's documents give ("Query string hash").
//
// QH1  the path is without a slash at its end, but for the lone one, and has `%26` for `&`.
// QH2  of the query `jwt` is left out; names and values are decoded and encoded anew (RFC 3986), names are in order, and values of
//      one name, in order too, are one with commas between them.

import { createHash } from 'node:crypto';

export interface SignedAddress {
  readonly method: string;
  readonly path: string;
  readonly query: string;
}

/** In hex. */
export function queryHash(address: SignedAddress): string {
  return createHash('sha256').update(canonicalRequest(address)).digest('hex');
}

export function canonicalRequest({ method, path, query }: SignedAddress): string {
  return [method.toUpperCase(), canonicalPath(path), canonicalQuery(query)].join('&');
}

function canonicalPath(path: string): string {
  const trimmed = path.replace(/\/+$/, '').replaceAll('&', '%26');
  return trimmed.startsWith('/') ? trimmed : `/${trimmed}`;
}

function canonicalQuery(query: string): string {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === 'jwt') continue;
    const all = values.get(encoded(name)) ?? [];
    values.set(encoded(name), [...all, encoded(value)]);
  }
  return [...values]
    .sort(([one], [other]) => order(one, other))
    .map(([name, all]) => `${name}=${all.sort(order).join(',')}`)
    .join('&');
}

/** What is encoded is ASCII. */
const order = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
