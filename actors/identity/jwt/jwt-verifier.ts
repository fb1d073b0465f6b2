// Verifies bearer tokens: JWTs (RFC 7519) of a single identity provider, for a configured audience, signed
// with a key of the issuer. Follows RFC 8725. Checks that need no keys run first, so most invalid tokens
// cause no request to the provider.
//
// Only the algorithms of `algorithms` are accepted: asymmetric algorithms, never `none` or HS*. Keys come
// from the issuer's set only; the token's `jwk`, `jku` and `x5u` are ignored. Issuer, audience, `exp` and
// required claims must be present. A verified token is cached by its digest for CACHE_MS, or until it
// expires. Refusals contain no data of the token. Names from different claims never collide: an application
// whose `client_id` equals the `sub` of a person is a different principal.

import { hash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, type JWK, type JWTPayload, jwtVerify } from 'jose';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import { isRefusal, type Principal, type Refusal, type VerificationResult } from '../principal.ts';
import { isIssuedLater } from './issue-time.ts';
import { type KeySet, KeysUnavailableError } from './key-set.ts';

export interface JwtVerifierOptions {
  readonly keys: KeySet;
  /** Accepted issuers. A provider may use a different issuer per token format. */
  readonly issuer: string | readonly string[];
  /** Accepted audiences. */
  readonly audience: readonly string[];
  /** @default algorithms with a public key */
  readonly algorithms?: readonly string[];
  readonly toleranceSeconds: number;
  /** Required values by claim. If the claim is a list, or the words of `scope`, it must contain the value. */
  readonly claims?: Readonly<Record<string, string>>;
}

export interface VerifiedToken {
  readonly principal: Principal & { readonly claims: JWTPayload };
  /** Key of the signature, with the provider's additional members. */
  readonly key: JWK;
}

const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Claims that may contain the name, in order of preference. */
const NAMES = ['sub', 'client_id', 'azp', 'appid', 'iss'];
const MAX_NAME = 255;
const MAX_TOKEN = 16_384;
const CACHE_MS = 60_000;
const MAX_CACHED = 1_000;

interface CachedToken {
  readonly token: VerifiedToken;
  /** `performance.now()` milliseconds. */
  readonly until: number;
}

export class JwtVerifier {
  readonly #options: JwtVerifierOptions;
  readonly #algorithms: readonly string[];
  readonly #issuers: readonly string[];
  readonly #cache = new Map<string, CachedToken>();

  constructor(options: JwtVerifierOptions) {
    this.#options = options;
    this.#algorithms = options.algorithms ?? ALGORITHMS;
    this.#issuers = typeof options.issuer === 'string' ? [options.issuer] : options.issuer;
  }

  /** Returns true if the token claims an accepted issuer. Verifies nothing. */
  claimsIssuer(token: string): boolean {
    if (token.length > MAX_TOKEN) return false;
    try {
      return this.#isIssuer(decodeJwt(token).iss);
    } catch {
      return false;
    }
  }

  /** Returns a promise only if keys must be fetched or a signature must be verified. */
  verify(token: string): VerifiedToken | Refusal | Promise<VerifiedToken | Refusal> {
    if (token.length > MAX_TOKEN) return wrong('is larger than 16 KB');
    const digest = hash('sha256', token, 'base64url');
    const cached = this.#cache.get(digest);
    if (cached !== undefined && performance.now() < cached.until && this.#isInTime(cached.token))
      return cached.token;
    const refusal = this.#refusalWithoutKeys(token);
    return refusal ?? this.#check(token, digest);
  }

  /** Verifies a token and returns the principal. */
  principalOf(token: string): VerificationResult | Promise<VerificationResult> {
    const verified = this.verify(token);
    return verified instanceof Promise ? verified.then(verdictOf) : verdictOf(verified);
  }

  /** Checks a token without its signature. */
  #refusalWithoutKeys(token: string): Refusal | undefined {
    try {
      const { alg } = decodeProtectedHeader(token);
      if (typeof alg !== 'string' || !this.#algorithms.includes(alg))
        return wrong('has an unsupported algorithm');
      const { iss, aud } = decodeJwt(token);
      const audiences = typeof aud === 'string' ? [aud] : Array.isArray(aud) ? aud : [];
      if (!this.#isIssuer(iss)) return wrong('is from another issuer');
      if (!audiences.some((each) => this.#options.audience.includes(each)))
        return wrong('is for another audience');
      return undefined;
    } catch {
      return wrong('is not a JSON Web Token');
    }
  }

  #isIssuer(iss: unknown): boolean {
    return typeof iss === 'string' && this.#issuers.includes(iss);
  }

  async #check(token: string, digest: string): Promise<VerifiedToken | Refusal> {
    const { audience, toleranceSeconds, keys } = this.#options;
    let jwk: JWK | undefined;
    try {
      const { payload } = await jwtVerify(
        token,
        async ({ alg, kid }) => {
          const found = await keys.find(kid === undefined ? { alg } : { alg, kid });
          if (found === undefined) throw new errors.JWKSNoMatchingKey();
          jwk = found.jwk;
          return found.key;
        },
        {
          issuer: [...this.#issuers],
          audience: [...audience],
          algorithms: [...this.#algorithms],
          clockTolerance: toleranceSeconds,
          requiredClaims: ['exp'],
        },
      );
      if (isIssuedLater(payload, toleranceSeconds)) return wrong('was issued in the future');
      const name = nameIn(payload);
      if (name === undefined) return wrong('has no name');
      const missing = this.#missingClaim(payload);
      if (missing !== undefined) return wrong(`lacks the required claim ${JSON.stringify(missing)}`);
      const verified: VerifiedToken = {
        principal: { kind: 'token', name, claims: payload },
        key: jwk as JWK,
      };
      this.#store(digest, verified);
      return verified;
    } catch (error) {
      return refusalOf(error);
    }
  }

  #missingClaim(payload: JWTPayload): string | undefined {
    return Object.entries(this.#options.claims ?? {}).find(([name, value]) => {
      const claim = Object.hasOwn(payload, name) ? payload[name] : undefined;
      const all = Array.isArray(claim) ? claim : name === 'scope' ? String(claim).split(' ') : [claim];
      return !all.some((each) => each !== undefined && typeof each !== 'object' && String(each) === value);
    })?.[0];
  }

  #isInTime({ principal }: VerifiedToken): boolean {
    const { exp = 0 } = principal.claims;
    return Date.now() / 1000 < exp + this.#options.toleranceSeconds;
  }

  #store(digest: string, token: VerifiedToken): void {
    this.#cache.delete(digest);
    this.#cache.set(digest, { token, until: performance.now() + CACHE_MS });
    deleteOldest(this.#cache, MAX_CACHED);
  }
}

function verdictOf(verified: VerifiedToken | Refusal): VerificationResult {
  return isRefusal(verified) ? verified : verified.principal;
}

/** Returns undefined if the claim is not printable, because control characters could corrupt logs. */
function nameIn(payload: JWTPayload): string | undefined {
  const claim = NAMES.find((each) => typeof payload[each] === 'string' && payload[each] !== '');
  const value = String(payload[claim ?? ''] ?? '');
  if (claim === undefined || value.length > MAX_NAME || /\p{Cc}/u.test(value)) return undefined;
  // A subject that looks like a prefixed name gets the prefix `sub=`.
  return claim === 'sub' && !NAMES.some((each) => value.startsWith(`${each}=`)) ? value : `${claim}=${value}`;
}

const wrong = (problem: string): Refusal => ({ kind: 'wrong', reason: `the token ${problem}` });

function refusalOf(error: unknown): Refusal {
  if (error instanceof KeysUnavailableError)
    return {
      kind: 'unavailable',
      reason: error.message,
      retryAfterSeconds: Math.max(1, Math.ceil(error.retryAfterMs / 1000)),
    };
  if (error instanceof errors.JWTExpired) return wrong('has expired');
  if (error instanceof errors.JWTClaimValidationFailed)
    return wrong(`has an invalid claim ${JSON.stringify(error.claim)}`);
  if (error instanceof errors.JWKSNoMatchingKey)
    return wrong('is signed with a key that its issuer does not publish');
  if (error instanceof errors.JWSSignatureVerificationFailed) return wrong('has an invalid signature');
  return wrong('cannot be verified');
}
