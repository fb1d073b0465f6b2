// Whose event is this? Triggers that share a path may have secrets of their own, and only those whose secret fits may take
// what came. Each secret is tried once, however many triggers have it, since a body may be large. Where nothing is
// verified the sender must at least be on this machine, and no web page.

import { BlockList, isIP } from 'node:net';
import type { WebhookReply, WebhookRequest } from './webhook.ts';

/** How the requests for one trigger are told from forged ones. */
export interface Verifier {
  /** The same for two that accept the same requests. Holds secrets: never shown. */
  readonly identity: string;
  fits(request: WebhookRequest, body: Buffer): boolean;
}

export interface Verifiable {
  readonly verifier: Verifier;
}

/** Those of the members whose verifier accepts the request, in their order. */
export function verifiedSubscribers<M extends Verifiable>(
  members: readonly M[],
  request: WebhookRequest,
  body: Buffer,
): readonly M[] {
  const tried: { readonly verifier: Verifier; readonly isFit: boolean }[] = [];
  return members.filter(({ verifier }) => {
    const before = tried.find((each) => each.verifier.identity === verifier.identity);
    if (before !== undefined) return before.isFit;
    const isFit = verifier.fits(request, body);
    tried.push({ verifier, isFit });
    return isFit;
  });
}

/**
 * For a trigger with `insecure_allow_unverified`: only who is on this machine is believed. The operator's browser is, and
 * sends what any page asks it to.
 */
export const loopbackOnly: Verifier = {
  identity: 'loopback',
  fits: ({ remoteAddress, headers }) => isLoopback(remoteAddress) && !isFromPage(headers),
};

/** The answer to what fits no verifier: `message`, and to a web page what it can never do. */
export function refusal({ headers }: WebhookRequest, message: string): WebhookReply {
  const more = isFromPage(headers)
    ? '; what nobody has signed is not taken from a web page (Origin, Sec-Fetch-Site)'
    : '';
  return { status: 401, body: `${message}${more}` };
}

/**
 * Browsers send `Origin` with whatever may change something, and of a GET to this machine, which has none, they tell by
 * Fetch Metadata where it comes from: `none` is what a person has typed. A page cannot forge them; only a GET of a page
 * that has our address by DNS rebinding has neither.
 */
function isFromPage(headers: WebhookRequest['headers']): boolean {
  return headers.origin !== undefined || (headers['sec-fetch-site'] ?? 'none') !== 'none';
}

/** IPv4 in IPv6 is seen through; one of the listeners writes IPv6 in full. */
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

function isLoopback(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6');
}
