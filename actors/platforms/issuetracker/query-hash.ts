// Computes the request hash in the tracker's tokens (`qsh`), which binds a token to one address: SHA-256 of
// method, path and query in the canonical form of the vendor's documentation ("Query string hash").
//
// The canonical path has no trailing slash (except the root), and `%26` for `&`. The canonical query lacks
// `jwt`. Names and values are decoded, then encoded by RFC 3986; names are sorted, and the sorted values of a
// name are joined by commas.

import { createHash } from 'node:crypto';

export interface SignedAddress {
  readonly method: string;
  readonly path: string;
  readonly query: string;
}

/** Returns the hash in hex. */
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
    const all = values.get(encode(name)) ?? [];
    values.set(encode(name), [...all, encode(value)]);
  }
  return [...values]
    .sort(([a], [b]) => order(a, b))
    .map(([name, all]) => `${name}=${all.sort(order).join(',')}`)
    .join('&');
}

/** Compares encoded texts, which are ASCII. */
const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
