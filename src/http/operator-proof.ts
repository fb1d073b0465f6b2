// Lets a command check that the gateway of a state folder answers at an address before it sends the operator token there.
//
// - the command sends a nonce to /health, and the gateway returns an HMAC of the nonce and its address. A foreign listener
//   lacks the token. It could relay the nonce to the gateway, but the HMAC then names another address.
// - proofs are for loopback addresses. A relay on another machine gets none.
// - a proof comes with the state folder, so a command finds the token of a gateway that runs elsewhere.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { isIP, isIPv6 } from 'node:net';
import { formatListenAddr, isLoopback } from '../../config/gateway-file/listen-addr.ts';
import type { HeaderList, HttpRequest } from './listener/seam.ts';

export const NONCE_HEADER = 'x-operator-nonce';
export const PROOF_HEADER = 'x-operator-proof';
/** The state folder, percent-encoded. */
export const FOLDER_HEADER = 'x-operator-folder';

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Returns the headers of a proof; none without a token, a valid nonce or a loopback address. */
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

/** Returns true if `proof` was made with the token for this nonce, by the gateway that listens at `address`. */
export function isProof(proof: string, token: string, nonce: string, address: Address): boolean {
  const expected = Buffer.from(proofOf(token, nonce, { ...address, host: canonical(address.host) }));
  const received = Buffer.from(proof);
  return received.length === expected.length && timingSafeEqual(received, expected);
}

/** The first words separate proofs from the inspector's cookies, which use the same key. */
function proofOf(token: string, nonce: string, address: Address): string {
  const text = `operator proof\n${nonce}\n${formatListenAddr(address)}`;
  return createHmac('sha256', token).update(text).digest('base64url');
}

/** IPv4 and IPv6 loopback may be different listeners; local connections keep the family in the source address. */
const loopbackPeers: Readonly<Record<string, string>> = {
  '127.0.0.1': '127.0.0.1',
  '::ffff:7f00:1': '127.0.0.1',
  '::1': '::1',
};

/**
 * Returns the loopback address that the peer has connected to, if any. Wildcards and `localhost` do not contain it. Other
 * names are refused: the gateway does not know their addresses.
 */
function contactedHost(listenHost: string, remoteAddress: string): string | undefined {
  const host = canonical(listenHost);
  const isWildcard = host === '0.0.0.0' || host === '::';
  if (!isWildcard && !isLoopback(host)) return undefined;
  return isWildcard || isIP(host) === 0 ? loopbackPeers[canonical(remoteAddress)] : host;
}

/** uWebSockets.js returns IPv6 addresses in full length. */
function canonical(host: string): string {
  const url = `http://[${host}]`;
  return isIPv6(host) && URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : host;
}
