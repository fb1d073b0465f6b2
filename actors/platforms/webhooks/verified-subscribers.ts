// Selects the triggers of a path (its subscribers) whose verifiers accept a request. Triggers may have
// different secrets; each secret is tried once, because bodies may be large. For a trigger that needs no
// secret, the sender must be on this machine and must not be a web page.
//
// Verification is synchronous unless keys must be fetched. Meanwhile the body occupies capacity reserved for
// unverified senders; if no capacity is free, the sender gets 503 and must retry.

import { BlockList, isIP } from 'node:net';
import {
  isRefusal,
  type Principal,
  type Refusal,
  type VerificationResult,
} from '../../identity/principal.ts';
import type { WebhookReply, WebhookRequest } from './webhook.ts';

/** Verifies requests for a trigger. */
export interface Verifier {
  /** Equal for verifiers that accept the same requests. Contains secrets: never log or return it. */
  readonly identity: string;
  /** True if requests need no proof. */
  readonly isOpen: boolean;
  /** Checks presence and form of the headers, before the body is read. */
  hasProof(request: WebhookRequest): boolean;
  verify(request: WebhookRequest, body: Buffer): VerificationResult | Promise<VerificationResult>;
}

export interface Verifiable {
  readonly verifier: Verifier;
}

export interface VerifiedRequest<S> {
  /** Triggers whose verifiers accepted the request, in order. */
  readonly subscribers: readonly [S, ...S[]];
  /** Sender, as identified by the verifier of the first trigger. */
  readonly principal: Principal;
}

/** Holder of the signing secret. */
export const signer: Principal = { kind: 'signature', name: 'webhook_secret' };
export const unproven: Refusal = { kind: 'missing', reason: '' };

const localSender: Principal = { kind: 'anonymous', name: 'loopback' };
const noCapacity: Refusal = {
  kind: 'unavailable',
  reason: 'too many requests are waiting for verification keys; retry shortly',
};

/**
 * Returns undefined if any subscriber may accept the request. Otherwise returns the 401 response; `message`
 * describes the missing proof.
 */
export function refuseUnproven(
  subscribers: readonly Verifiable[],
  request: WebhookRequest,
  message: string,
): WebhookReply | undefined {
  const isPossible = subscribers.some(({ verifier }) => verifier.hasProof(request));
  return isPossible ? undefined : refusalReply(request, message);
}

/** Returns the subscribers whose verifiers accept the request; otherwise the refusal. */
export function verifiedSubscribers<S extends Verifiable>(
  subscribers: readonly S[],
  request: WebhookRequest,
  body: Buffer,
): VerifiedRequest<S> | Refusal | Promise<VerifiedRequest<S> | Refusal> {
  const [first] = subscribers;
  // Fast path for one trigger with a synchronous verifier.
  if (first !== undefined && subscribers.length === 1) {
    const verdict = first.verifier.verify(request, body);
    if (!(verdict instanceof Promise)) {
      if (isRefusal(verdict)) return moreUseful(unproven, verdict);
      return { subscribers: subscribers as readonly [S], principal: verdict };
    }
    return withCapacity(
      request,
      body,
      verdict.then((settled) => selectSubscribers(subscribers, [settled])),
    );
  }
  const tried: {
    readonly identity: string;
    readonly verdict: VerificationResult | Promise<VerificationResult>;
  }[] = [];
  let isAsync = false;
  const verdicts = subscribers.map(({ verifier }) => {
    const { identity } = verifier;
    const earlier = tried.find((each) => each.identity === identity);
    if (earlier !== undefined) return earlier.verdict;
    const verdict = verifier.verify(request, body);
    isAsync ||= verdict instanceof Promise;
    tried.push({ identity, verdict });
    return verdict;
  });
  if (!isAsync) return selectSubscribers(subscribers, verdicts as readonly VerificationResult[]);
  const result = Promise.all(verdicts).then((all) => selectSubscribers(subscribers, all));
  return withCapacity(request, body, result);
}

/** Reserves capacity for the body until `result` settles. Refuses the request if no capacity is free. */
function withCapacity<T>(request: WebhookRequest, body: Buffer, result: Promise<T>): Refusal | Promise<T> {
  const release = request.reserveBody(body.length);
  if (release !== undefined) return result.finally(release);
  result.catch(() => {});
  return noCapacity;
}

function selectSubscribers<S>(
  subscribers: readonly S[],
  verdicts: readonly VerificationResult[],
): VerifiedRequest<S> | Refusal {
  const accepting: S[] = [];
  let principal: Principal | undefined;
  let refusal = unproven;
  for (const [index, verdict] of verdicts.entries()) {
    if (isRefusal(verdict)) refusal = moreUseful(refusal, verdict);
    else {
      accepting.push(subscribers[index] as S);
      principal ??= verdict;
    }
  }
  const [first, ...others] = accepting;
  if (first === undefined || principal === undefined) return refusal;
  return { subscribers: [first, ...others], principal };
}

const usefulness: Readonly<Record<Refusal['kind'], number>> = {
  missing: 0,
  wrong: 1,
  forbidden: 2,
  unavailable: 3,
};

/** Returns the refusal that is most useful to the sender. */
function moreUseful(a: Refusal, b: Refusal): Refusal {
  return usefulness[b.kind] > usefulness[a.kind] ? b : a;
}

/**
 * Verifier for `insecure_allow_unverified`: accepts only senders on this machine, and no browsers, because
 * any web page can make a browser send requests to this machine.
 */
export const loopbackOnly: Verifier = {
  identity: 'loopback',
  isOpen: true,
  hasProof: (request) => isFromThisMachine(request),
  verify: (request) => (isFromThisMachine(request) ? localSender : unproven),
};

export function isFromThisMachine({ remoteAddress, headers }: WebhookRequest): boolean {
  return isLoopback(remoteAddress) && !isFromPage(headers);
}

const statuses: Readonly<Record<Refusal['kind'], number>> = {
  missing: 401,
  wrong: 401,
  forbidden: 403,
  unavailable: 503,
};

/** Returns the response for a refused request: `message`, the reason, and a hint for browsers. */
export function refusalReply(
  { headers }: WebhookRequest,
  message: string,
  { kind, reason, retryAfterSeconds = 1 }: Refusal = unproven,
): WebhookReply {
  const status = statuses[kind];
  if (kind === 'unavailable')
    return { status, headers: [['retry-after', String(retryAfterSeconds)]], body: reason };
  const hint = isFromPage(headers)
    ? '; unsigned requests from web pages are refused (Origin, Sec-Fetch-Site)'
    : '';
  return { status, body: `${message}${reason === '' ? '' : `: ${reason}`}${hint}` };
}

/**
 * Returns true if a web page caused the request. Browsers send `Origin` with requests that may change state.
 * For a GET, Sec-Fetch-Site names the origin; `none` is an address typed by a person. Pages cannot forge
 * these headers. Only a GET after DNS rebinding has neither header.
 */
function isFromPage(headers: WebhookRequest['headers']): boolean {
  return headers.origin !== undefined || (headers['sec-fetch-site'] ?? 'none') !== 'none';
}

/** Loopback addresses. Also matches IPv4 addresses mapped to IPv6, however a listener writes them. */
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

function isLoopback(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6');
}
