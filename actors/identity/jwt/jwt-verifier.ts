// Who has sent this bearer token? A JWT (RFC 7519) of one provider, for one audience, signed with a key of that issuer (RFC 8725
// for what must not be believed of it). What can be told without keys is told first, so that nonsense asks no provider.
//
// JV1  a token names its algorithm, and only those of `algorithms` are taken: asymmetric ones, never `none`, never HS*. Keys
//      come from the issuer's set alone: `jwk`, `jku` and `x5u` of a token mean nothing.
// JV2  issuer, audience, `exp` and the claims asked for must be there; `exp` and `nbf` are held against the clock of the machine,
//      with a tolerance.
// JV3  a token that was right is known for KNOWN_MS, unless it expires before, and decided at once. Its digest is kept, not the
//      token, of MAX_KNOWN tokens at most.
// JV4  what is said of a refused token repeats nothing of it.
// JV5  what two claims say is never one name: an application whose `client_id` is a person's `sub` is not that person.

import { hash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, type JWK, type JWTPayload, jwtVerify } from 'jose';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import { isRefusal, type Principal, type Refusal, type Verdict } from '../principal.ts';
import { type KeySet, KeysUnavailableError } from './key-set.ts';

export interface JwtVerifierOptions {
  readonly keys: KeySet;
  /** One of them, where there are several: a provider may have a name for each form of its tokens. */
  readonly issuer: string | readonly string[];
  /** One of them. */
  readonly audience: readonly string[];
  /** @default those with a public key */
  readonly algorithms?: readonly string[];
  readonly toleranceSeconds: number;
  /** Claims with the text they must be, or, for a list or the words of `scope`, must have among them. */
  readonly claims?: Readonly<Record<string, string>>;
}

export interface VerifiedToken {
  readonly principal: Principal & { readonly claims: JWTPayload };
  /** The key that signed it, with what its provider says of it. */
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
/** Claims that may say who it is, the best first. */
const NAMES = ['sub', 'client_id', 'azp', 'appid', 'iss'];
const MAX_NAME = 255;
const MAX_TOKEN = 16_384;
const KNOWN_MS = 60_000;
const MAX_KNOWN = 1_000;

interface Known {
  readonly token: VerifiedToken;
  /** In terms of performance.now. */
  readonly until: number;
}

export class JwtVerifier {
  readonly #options: JwtVerifierOptions;
  readonly #algorithms: readonly string[];
  readonly #issuers: readonly string[];
  readonly #known = new Map<string, Known>();

  constructor(options: JwtVerifierOptions) {
    this.#options = options;
    this.#algorithms = options.algorithms ?? ALGORITHMS;
    this.#issuers = typeof options.issuer === 'string' ? [options.issuer] : options.issuer;
  }

  /** Whether the token says that it is of an issuer of these; nothing of it is proven. */
  isNamed(token: string): boolean {
    if (token.length > MAX_TOKEN) return false;
    try {
      return this.#isIssuer(decodeJwt(token).iss);
    } catch {
      return false;
    }
  }

  /** A promise only where the keys, or the signature, have to be waited for. */
  verify(token: string): VerifiedToken | Refusal | Promise<VerifiedToken | Refusal> {
    if (token.length > MAX_TOKEN) return wrong('is larger than 16 KB');
    const digest = hash('sha256', token, 'base64url');
    const known = this.#known.get(digest);
    if (known !== undefined && performance.now() < known.until && this.#isInTime(known.token))
      return known.token;
    const refusal = this.#refusalAtSight(token);
    return refusal ?? this.#check(token, digest);
  }

  /** Whose the token is. */
  principalOf(token: string): Verdict | Promise<Verdict> {
    const verified = this.verify(token);
    return verified instanceof Promise ? verified.then(verdictOf) : verdictOf(verified);
  }

  /** What the token itself shows to be wrong; nothing of it is proven. */
  #refusalAtSight(token: string): Refusal | undefined {
    try {
      const { alg } = decodeProtectedHeader(token);
      if (typeof alg !== 'string' || !this.#algorithms.includes(alg))
        return wrong('has an algorithm that is not taken');
      const { iss, aud } = decodeJwt(token);
      const given = typeof aud === 'string' ? [aud] : Array.isArray(aud) ? aud : [];
      if (!this.#isIssuer(iss)) return wrong('is of another issuer');
      if (!given.some((each) => this.#options.audience.includes(each)))
        return wrong('is for another audience');
      return undefined;
    } catch {
      return wrong('is no JSON Web Token');
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
      const name = nameIn(payload);
      if (name === undefined) return wrong('names nobody');
      const lacking = this.#lackingIn(payload);
      if (lacking !== undefined) return wrong(`has not the ${JSON.stringify(lacking)} that is asked for`);
      const verified: VerifiedToken = {
        principal: { kind: 'token', name, claims: payload },
        key: jwk as JWK,
      };
      this.#keep(digest, verified);
      return verified;
    } catch (error) {
      return refusalOf(error);
    }
  }

  #lackingIn(payload: JWTPayload): string | undefined {
    return Object.entries(this.#options.claims ?? {}).find(([name, value]) => {
      const given = Object.hasOwn(payload, name) ? payload[name] : undefined;
      const all = Array.isArray(given) ? given : name === 'scope' ? String(given).split(' ') : [given];
      return !all.some((each) => each !== undefined && typeof each !== 'object' && String(each) === value);
    })?.[0];
  }

  #isInTime({ principal }: VerifiedToken): boolean {
    const { exp = 0 } = principal.claims;
    return Date.now() / 1000 < exp + this.#options.toleranceSeconds;
  }

  #keep(digest: string, token: VerifiedToken): void {
    this.#known.delete(digest);
    this.#known.set(digest, { token, until: performance.now() + KNOWN_MS });
    forgetOldest(this.#known, MAX_KNOWN);
  }
}

function verdictOf(verified: VerifiedToken | Refusal): Verdict {
  return isRefusal(verified) ? verified : verified.principal;
}

/** Undefined where the claim that says it cannot be shown: control characters would spoil what is printed. */
function nameIn(payload: JWTPayload): string | undefined {
  const claim = NAMES.find((each) => typeof payload[each] === 'string' && payload[each] !== '');
  const value = String(payload[claim ?? ''] ?? '');
  if (claim === undefined || value.length > MAX_NAME || /\p{Cc}/u.test(value)) return undefined;
  // A subject that reads like another claim is named by its own as well (JV5).
  return claim === 'sub' && !NAMES.some((each) => value.startsWith(`${each}=`)) ? value : `${claim}=${value}`;
}

const wrong = (what: string): Refusal => ({ refused: 'wrong', why: `the token ${what}` });

function refusalOf(error: unknown): Refusal {
  if (error instanceof KeysUnavailableError)
    return {
      refused: 'unavailable',
      why: error.message,
      retryAfterSeconds: Math.max(1, Math.ceil(error.retryAfterMs / 1000)),
    };
  if (error instanceof errors.JWTExpired) return wrong('has expired');
  if (error instanceof errors.JWTClaimValidationFailed)
    return wrong(`does not pass the check of its claim ${JSON.stringify(error.claim)}`);
  if (error instanceof errors.JWKSNoMatchingKey)
    return wrong('is signed with a key that its issuer does not have');
  if (error instanceof errors.JWSSignatureVerificationFailed) return wrong('has a signature that is wrong');
  return wrong('cannot be verified');
}
