// Proves to a command that the listener at an address is the gateway with a certain state folder, before the
// command sends the operator token of that folder (cli/api/operator-key.ts).
//
// - The command sends a nonce to /health. The gateway returns an HMAC of the nonce and its own address, with
//   the token as key. A foreign listener lacks the token. If it relays the nonce to the gateway, the HMAC is
//   for another address.
// - Only loopback addresses get proofs, so a relay on another machine gets none.
// - The response also contains the path of the state folder, where the command finds the token.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { isIP, isIPv6 } from 'node:net';
import { formatListenAddr, isLoopback } from '../../config/gateway-file/listen-addr.ts';
import type { HeaderList, HttpRequest } from './listener/seam.ts';

export const NONCE_HEADER = 'x-operator-nonce';
export const PROOF_HEADER = 'x-operator-proof';
/** Header with the path of the state folder, percent-encoded. */
export const FOLDER_HEADER = 'x-operator-folder';

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Returns the headers with the proof; empty if token, valid nonce or loopback address are missing. */
export function proofHeaders(
  { headers, remoteAddress }: Pick<HttpRequest, 'headers' | 'remoteAddress'>,
  token: string,
  listenAddress: Address,
  stateDir: string,
): HeaderList {
  const nonce = headers[NONCE_HEADER];
  if (nonce === undefined || token === '') return [];
  const host = contactedHost(listenAddress.host, remoteAddress);
  if (host === undefined || !/^[\w-]{22,64}$/.test(nonce)) return [];
  return [
    [PROOF_HEADER, proofOf(token, nonce, { host, port: listenAddress.port })],
    [FOLDER_HEADER, encodeURIComponent(stateDir)],
  ];
}

/** Returns true if `proof` was created with the token, for this nonce and this address. */
export function isProof(proof: string, token: string, nonce: string, address: Address): boolean {
  const expected = Buffer.from(proofOf(token, nonce, { ...address, host: canonical(address.host) }));
  const received = Buffer.from(proof);
  return received.length === expected.length && timingSafeEqual(received, expected);
}

/** The prefix separates proofs from the inspector's cookies, which are signed with the same key. */
function proofOf(token: string, nonce: string, address: Address): string {
  const text = `operator proof\n${nonce}\n${formatListenAddr(address)}`;
  return createHmac('sha256', token).update(text).digest('base64url');
}

/**
 * Loopback addresses by the address of the peer. 127.0.0.1 and ::1 can have different listeners; a local
 * connection has the same address family on both sides.
 */
const loopbackPeers: Readonly<Record<string, string>> = {
  '127.0.0.1': '127.0.0.1',
  '::ffff:7f00:1': '127.0.0.1',
  '::1': '::1',
};

/**
 * Returns the loopback address that the peer has connected to; undefined for other addresses. For a
 * listener on all addresses and for `localhost`, it follows from the address of the peer.
 */
function contactedHost(listenHost: string, remoteAddress: string): string | undefined {
  const host = canonical(listenHost);
  const isWildcard = host === '0.0.0.0' || host === '::';
  if (!isWildcard && !isLoopback(host)) return undefined;
  return isWildcard || isIP(host) === 0 ? loopbackPeers[canonical(remoteAddress)] : host;
}

/** Returns an IPv6 address in its short form; uWebSockets.js returns the long form. */
function canonical(host: string): string {
  const url = `http://[${host}]`;
  return isIPv6(host) && URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : host;
}
