// Verifies webhooks that carry a token signed with a shared secret (JWT, HS256), as the tracker sends them to
// apps. The token does not protect the body.
//
// Only HS256 with the trigger's secrets is accepted. `exp`, `nbf` and `iat` are checked if present, with a
// tolerance. A request hash (`qsh`, query-hash.ts) must match the request. The fixed hash that is valid for
// any address belongs to page tokens and is refused. A refusal contains no part of the token.

import { timingSafeEqual } from 'node:crypto';
import { errors, jwtVerify } from 'jose';
import { isIssuedLater } from '../../identity/jwt/issue-time.ts';
import type { Principal, Refusal, VerificationResult } from '../../identity/principal.ts';
import { loopbackOnly, type Verifier } from '../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';
import { queryHash } from './query-hash.ts';

export interface TokenProof {
  /** Accepted secrets; empty strings are ignored. */
  readonly secrets: readonly (string | undefined)[];
  /** Path that the tracker signs, if a proxy changes the path. */
  readonly signedPath: string | undefined;
  readonly allowsUnverified: boolean;
}

const TOKEN = /^(?:Bearer|JWT) +([\w-]+\.[\w-]+\.[\w-]+)$/i;
const MAX_TOKEN = 16_384;
/** Maximum difference between the clocks. */
const TOLERANCE_SECONDS = 30;
const holder: Principal = { kind: 'token', name: 'webhook_secret' };

/** Throws if the secret is missing, unless the trigger allows unverified requests. */
export function tokenVerifier({ secrets, signedPath, allowsUnverified }: TokenProof): Verifier {
  const accepted = secrets.filter((secret) => secret !== undefined && secret !== '') as readonly string[];
  if (accepted.length === 0 && allowsUnverified) return loopbackOnly;
  if (accepted.length === 0) throw new Error('webhook_secret is empty');
  const keys = accepted.map((secret) => new TextEncoder().encode(secret));
  return {
    identity: JSON.stringify([accepted, signedPath]),
    isOpen: false,
    hasProof: (request) => tokenIn(request) !== undefined,
    verify: async (request) => verifyToken(tokenIn(request) ?? '', keys, request, signedPath),
  };
}

function tokenIn({ headers }: WebhookRequest): string | undefined {
  const token = TOKEN.exec(headers.authorization ?? '')?.[1];
  return token === undefined || token.length > MAX_TOKEN ? undefined : token;
}

async function verifyToken(
  token: string,
  keys: readonly Uint8Array[],
  { method, path, query }: WebhookRequest,
  signedPath: string | undefined,
): Promise<VerificationResult> {
  let refusal = wrong('is not a JSON Web Token');
  for (const key of keys)
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ['HS256'],
        clockTolerance: TOLERANCE_SECONDS,
      });
      const { qsh } = payload;
      if (isIssuedLater(payload, TOLERANCE_SECONDS)) return wrong('was issued in the future');
      if (qsh === undefined) return holder;
      const expected = queryHash({ method, path: signedPath ?? path, query });
      return isSameHash(qsh, expected) ? holder : wrong(OTHER_ADDRESS);
    } catch (error) {
      refusal = refusalOf(error);
      // Any other error would be the same with every secret.
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) return refusal;
    }
  return refusal;
}

const OTHER_ADDRESS =
  'was issued for a different address (claim qsh); if a proxy changes the path, set signed_path';

function isSameHash(actual: unknown, expected: string): boolean {
  if (typeof actual !== 'string' || actual.length !== expected.length) return false;
  return timingSafeEqual(Buffer.from(actual.toLowerCase(), 'latin1'), Buffer.from(expected, 'latin1'));
}

const wrong = (problem: string): Refusal => ({ kind: 'wrong', reason: `the token ${problem}` });

function refusalOf(error: unknown): Refusal {
  if (error instanceof errors.JWTExpired) return wrong('has expired');
  if (error instanceof errors.JWTClaimValidationFailed)
    return wrong(`has an invalid claim ${JSON.stringify(error.claim)}`);
  if (error instanceof errors.JOSEAlgNotAllowed) return wrong('has an unsupported algorithm');
  if (error instanceof errors.JWSSignatureVerificationFailed) return wrong('has an invalid signature');
  return wrong('cannot be verified');
}
