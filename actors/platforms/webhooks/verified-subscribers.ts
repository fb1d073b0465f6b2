// Whose event is this? Triggers that share a path may have secrets of their own, and only those whose secret fits may take
// what came. Each secret is tried once, however many triggers have it, since a body may be large. Where nothing is
// verified the sender must at least be on this machine, and no web page.
//
// VS1       what decides at once is decided at once: a promise is given, and awaited, only where keys have to be asked for.
// VS2 (A8)  while keys are asked for the body has room of that for unknown senders; where there is none the sender comes again.

import { BlockList, isIP } from 'node:net';
import { isRefusal, type Principal, type Refusal, type Verdict } from '../../identity/principal.ts';
import type { WebhookReply, WebhookRequest } from './webhook.ts';

/** How the requests for one trigger are told from forged ones. */
export interface Verifier {
  /** The same for two that accept the same requests. Holds secrets: never shown. */
  readonly identity: string;
  /** Nothing is proven: whoever may reach it is believed. */
  readonly isOpen: boolean;
  /** All that can be told before the body is in: whether what must be there is there, and has the form. */
  mayFit(request: WebhookRequest): boolean;
  verify(request: WebhookRequest, body: Buffer): Verdict | Promise<Verdict>;
}

export interface Verifiable {
  readonly verifier: Verifier;
}

export interface Verified<S> {
  /** Those that may take the request, in their order. */
  readonly subscribers: readonly [S, ...S[]];
  /** Who sent it, as the first of them knows it. */
  readonly principal: Principal;
}

/** Whoever has the secret that requests are signed with. */
export const signer: Principal = { kind: 'signature', name: 'webhook_secret' };
export const notProven: Refusal = { refused: 'missing', why: '' };

const thisMachine: Principal = { kind: 'anonymous', name: 'loopback' };
const noRoom: Refusal = {
  refused: 'unavailable',
  why: 'too many requests wait for the keys of their senders; send it again shortly',
};

/** Whether there is one that may accept the request; else the reply, in which `message` says what is missing. */
export function admitted(
  subscribers: readonly Verifiable[],
  request: WebhookRequest,
  message: string,
): WebhookReply | undefined {
  const isPossible = subscribers.some(({ verifier }) => verifier.mayFit(request));
  return isPossible ? undefined : refusal(request, message);
}

/** Those of the subscribers whose verifier accepts the request; else why none does. */
export function verifiedSubscribers<S extends Verifiable>(
  subscribers: readonly S[],
  request: WebhookRequest,
  body: Buffer,
): Verified<S> | Refusal | Promise<Verified<S> | Refusal> {
  const [first] = subscribers;
  // Most paths have one trigger, and most verifiers decide at once: such a request pays for no list.
  if (first !== undefined && subscribers.length === 1) {
    const verdict = first.verifier.verify(request, body);
    if (!(verdict instanceof Promise)) {
      if (isRefusal(verdict)) return graver(notProven, verdict);
      return { subscribers: subscribers as readonly [S], principal: verdict };
    }
    return held(
      request,
      body,
      verdict.then((known) => acceptedBy(subscribers, [known])),
    );
  }
  const tried: { readonly identity: string; readonly verdict: Verdict | Promise<Verdict> }[] = [];
  let isAsking = false;
  const verdicts = subscribers.map(({ verifier }) => {
    const { identity } = verifier;
    const before = tried.find((each) => each.identity === identity);
    if (before !== undefined) return before.verdict;
    const verdict = verifier.verify(request, body);
    isAsking ||= verdict instanceof Promise;
    tried.push({ identity, verdict });
    return verdict;
  });
  if (!isAsking) return acceptedBy(subscribers, verdicts as readonly Verdict[]);
  const known = Promise.all(verdicts).then((all) => acceptedBy(subscribers, all));
  return held(request, body, known);
}

function held<T>(request: WebhookRequest, body: Buffer, known: Promise<T>): Refusal | Promise<T> {
  const giveBack = request.holdBody(body.length);
  if (giveBack !== undefined) return known.finally(giveBack);
  known.catch(() => {});
  return noRoom;
}

function acceptedBy<S>(subscribers: readonly S[], verdicts: readonly Verdict[]): Verified<S> | Refusal {
  const accepting: S[] = [];
  let principal: Principal | undefined;
  let refusal = notProven;
  for (const [index, verdict] of verdicts.entries()) {
    if (isRefusal(verdict)) refusal = graver(refusal, verdict);
    else {
      accepting.push(subscribers[index] as S);
      principal ??= verdict;
    }
  }
  const [first, ...others] = accepting;
  if (first === undefined || principal === undefined) return refusal;
  return { subscribers: [first, ...others], principal };
}

const gravity: Readonly<Record<Refusal['refused'], number>> = {
  missing: 0,
  wrong: 1,
  forbidden: 2,
  unavailable: 3,
};

/** Of several the sender is told what helps most: what it need not send again in another way. */
function graver(one: Refusal, other: Refusal): Refusal {
  return gravity[other.refused] > gravity[one.refused] ? other : one;
}

/**
 * For a trigger with `insecure_allow_unverified`: only who is on this machine is believed. The operator's browser is, and
 * sends what any page asks it to.
 */
export const loopbackOnly: Verifier = {
  identity: 'loopback',
  isOpen: true,
  mayFit: (request) => isFromThisMachine(request),
  verify: (request) => (isFromThisMachine(request) ? thisMachine : notProven),
};

export function isFromThisMachine({ remoteAddress, headers }: WebhookRequest): boolean {
  return isLoopback(remoteAddress) && !isFromPage(headers);
}

const statuses: Readonly<Record<Refusal['refused'], number>> = {
  missing: 401,
  wrong: 401,
  forbidden: 403,
  unavailable: 503,
};

/** The answer to what no verifier accepts: `message` with what it says, and to a web page what it can never do. */
export function refusal(
  { headers }: WebhookRequest,
  message: string,
  { refused, why, retryAfterSeconds = 1 }: Refusal = notProven,
): WebhookReply {
  const status = statuses[refused];
  if (refused === 'unavailable')
    return { status, headers: [['retry-after', String(retryAfterSeconds)]], body: why };
  const more = isFromPage(headers)
    ? '; what nobody has signed is not taken from a web page (Origin, Sec-Fetch-Site)'
    : '';
  return { status, body: `${message}${why === '' ? '' : `: ${why}`}${more}` };
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
