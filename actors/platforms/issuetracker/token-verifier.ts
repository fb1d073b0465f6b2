// What proves a webhook whose tracker sends a token signed with a secret of ours (JWT, HS256): apps and webhooks that programs
// have made. The body is not signed with it.
//
// TV1  only HS256 under the secrets of the trigger is taken; what a token says of keys and of its algorithm changes nothing.
// TV2  `exp` and `nbf` count where they are there, with a tolerance. A hash of the address (`qsh`) must be that of the request: one
//      that fits any address is a token of a page for its reader.
// TV3  what is said of a refused token repeats nothing of it.

import { timingSafeEqual } from 'node:crypto';
import { errors, jwtVerify } from 'jose';
import type { Principal, Refusal, Verdict } from '../../identity/principal.ts';
import { loopbackOnly, type Verifier } from '../webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';
import { queryHash } from './query-hash.ts';

export interface TokenProof {
  /** Any of them will do; those that are empty are none. */
  readonly secrets: readonly (string | undefined)[];
  /** The path of the request as the tracker signs it, where a proxy has changed it. */
  readonly signedPath: string | undefined;
  readonly allowsUnverified: boolean;
}

const TOKEN = /^(?:Bearer|JWT) +([\w-]+\.[\w-]+\.[\w-]+)$/i;
const MAX_TOKEN = 16_384;
/** Of the clocks of both sides. */
const TOLERANCE_SECONDS = 30;
const holder: Principal = { kind: 'token', name: 'webhook_secret' };

/** Throws where nothing would prove who sends, unless that was asked for. */
export function tokenVerifier({ secrets, signedPath, allowsUnverified }: TokenProof): Verifier {
  const given = secrets.filter((secret) => secret !== undefined && secret !== '') as readonly string[];
  if (given.length === 0 && allowsUnverified) return loopbackOnly;
  if (given.length === 0) throw new Error('webhook_secret is empty');
  const keys = given.map((secret) => new TextEncoder().encode(secret));
  return {
    identity: JSON.stringify([given, signedPath]),
    isOpen: false,
    mayFit: (request) => tokenIn(request) !== undefined,
    verify: async (request) => verdictOf(tokenIn(request) ?? '', keys, request, signedPath),
  };
}

function tokenIn({ headers }: WebhookRequest): string | undefined {
  const token = TOKEN.exec(headers.authorization ?? '')?.[1];
  return token === undefined || token.length > MAX_TOKEN ? undefined : token;
}

async function verdictOf(
  token: string,
  keys: readonly Uint8Array[],
  { method, path, query }: WebhookRequest,
  signedPath: string | undefined,
): Promise<Verdict> {
  let refusal = wrong('is no JSON Web Token');
  for (const key of keys)
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ['HS256'],
        clockTolerance: TOLERANCE_SECONDS,
      });
      const { qsh } = payload;
      if (qsh === undefined) return holder;
      const expected = queryHash({ method, path: signedPath ?? path, query });
      return isSameHash(qsh, expected) ? holder : wrong(ELSEWHERE);
    } catch (error) {
      refusal = refusalOf(error);
      // Whatever else is wrong is so under every secret.
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) return refusal;
    }
  return refusal;
}

const ELSEWHERE =
  'was made for another address (its claim qsh): where a proxy changes the path, signed_path says how the tracker has it';

function isSameHash(given: unknown, expected: string): boolean {
  if (typeof given !== 'string' || given.length !== expected.length) return false;
  return timingSafeEqual(Buffer.from(given.toLowerCase(), 'latin1'), Buffer.from(expected, 'latin1'));
}

const wrong = (what: string): Refusal => ({ refused: 'wrong', why: `the token ${what}` });

function refusalOf(error: unknown): Refusal {
  if (error instanceof errors.JWTExpired) return wrong('has expired');
  if (error instanceof errors.JWTClaimValidationFailed)
    return wrong(`does not pass the check of its claim ${JSON.stringify(error.claim)}`);
  if (error instanceof errors.JOSEAlgNotAllowed) return wrong('has an algorithm that is not taken');
  if (error instanceof errors.JWSSignatureVerificationFailed) return wrong('has a signature that is wrong');
  return wrong('cannot be verified');
}
