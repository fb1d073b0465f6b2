// Parses `host:port` of `listen_addr`: a name, an IPv4 address, or an IPv6 address in brackets.

import { isIPv4, isIPv6 } from 'node:net';

/** Approximate pattern for editors; `parseListenAddr` is exact. */
export const listenAddrPattern = '^(\\[[0-9A-Fa-f:.]+(%[0-9A-Za-z_.-]+)?\\]|[A-Za-z0-9._-]+):[0-9]{1,5}$';

/** Splits `host:port`; returns an IPv6 host without brackets. Throws a TypeError with the reason. */
export function parseListenAddr(text: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*)):([0-9]+)$/.exec(text);
  if (match === null) throw new TypeError('expected host:port, such as 127.0.0.1:8080 or [::1]:8080');
  const [, bracketed, plain = '', digits = ''] = match;
  const port = Number(digits);
  if (digits.length > 5 || port > 65_535) throw new TypeError('expected a port from 0 to 65535');
  if (bracketed !== undefined) {
    if (!isIPv6(bracketed)) throw new TypeError('expected an IPv6 address inside [ ]');
    return { host: bracketed, port };
  }
  if (plain === '') throw new TypeError('expected a host before the colon; 0.0.0.0 is every IPv4 address');
  const isDigits = /^[0-9.]+$/.test(plain);
  if (isDigits ? !isIPv4(plain) : !/^[A-Za-z0-9._-]+$/.test(plain)) {
    throw new TypeError('expected a host name or an IP address before the colon');
  }
  return { host: plain, port };
}

/** Inverse of `parseListenAddr`. */
export function formatListenAddr({ host, port }: { host: string; port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Loopback names in Host headers. */
export const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Returns true for a loopback host, with or without brackets around an IPv6 address. */
export function isLoopback(host: string): boolean {
  const lower = host.toLowerCase();
  return loopbackNames.has(lower) || lower === '::1' || /^127(\.\d{1,3}){3}$/.test(lower);
}

/** Names by which this machine reaches a listener on all addresses. */
const LOCAL_NAMES: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': 'localhost' };

/** Returns the listener's URL for clients on this machine. */
export function urlOf({ host, port }: { host: string; port: number }): string {
  const name = LOCAL_NAMES[host] ?? (host.includes(':') ? `[${host}]` : host);
  return `http://${name}:${port}`;
}
