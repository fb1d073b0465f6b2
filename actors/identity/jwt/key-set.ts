// Public keys of an identity provider (JWKS, RFC 7517), fetched on demand and cached. Ages use a monotonic
// clock, so setting the system clock neither keeps a withdrawn key valid nor causes more requests.
//
// Only one fetch runs at a time, for any number of waiting tokens. An unknown key id causes a fetch, because
// keys can rotate at any time: twice in a row, then once per `cooldownMs`, so that tokens with invented key
// ids cause little load. When fetches fail, the pauses between them grow up to `cooldownMs`; meanwhile an
// unknown key id is reported as unavailable, not as wrong. Keys are used for `maxAgeMs`, and refreshed in the
// background after half of this time, so a short outage of the provider has no effect. An invalid document
// changes nothing.

import { type CryptoKey, createLocalJWKSet, type JSONWebKeySet, type JWK } from 'jose';
import { providerDocument } from './provider-document.ts';

export interface KeySetOptions {
  /** URL of the keys, or of the OpenID Connect Discovery document that contains it (`jwks_uri`). */
  readonly source:
    | { readonly jwksUrl: URL }
    | { readonly metadataUrl: URL; readonly issuer?: string | undefined };
  /** Timeout of the whole fetch. @default 5000 */
  readonly timeoutMs?: number;
  /** Maximum document size. @default 1 MiB */
  readonly maxBytes?: number;
  /** @default 3600000 */
  readonly maxAgeMs?: number;
  /** @default 30000 */
  readonly cooldownMs?: number;
  /** @default 1000 */
  readonly minRetryMs?: number;
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

export interface PublicKey {
  readonly key: CryptoKey;
  /** Key as published by the provider, with additional members such as `endorsements`. */
  readonly jwk: JWK;
}

/** Header of a token that selects its key. */
export interface KeyHeader {
  readonly alg: string;
  readonly kid?: string;
}

export class KeysUnavailableError extends Error {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 1_048_576;
const MAX_AGE_MS = 3_600_000;
const COOLDOWN_MS = 30_000;
const MIN_RETRY_MS = 1_000;
/** Number of consecutive fetches for unknown keys. */
const UNKNOWN_KEYS_BURST = 2;
/** Maximum number of keys; further keys are ignored. Providers publish only a few. */
const MAX_KEYS = 200;

interface CachedKey {
  readonly jwk: JWK;
  readonly resolve: ReturnType<typeof createLocalJWKSet>;
}

interface CachedKeys {
  readonly keys: readonly CachedKey[];
  readonly at: number;
}

export class KeySet {
  readonly #options: KeySetOptions;
  readonly #now: () => number;
  readonly #maxAgeMs: number;
  readonly #cooldownMs: number;
  #cache: CachedKeys | undefined;
  #fetching: Promise<void> | undefined;
  /** Earliest time of the next fetch. */
  #nextAt = Number.NEGATIVE_INFINITY;
  /** Time from which the full burst for unknown keys is available. */
  #burstFullAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #lastFailure = '';

  constructor(options: KeySetOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#maxAgeMs = options.maxAgeMs ?? MAX_AGE_MS;
    this.#cooldownMs = options.cooldownMs ?? COOLDOWN_MS;
  }

  /**
   * Returns the matching key; undefined without a match, or if several match a token without a key id.
   * Rejects with KeysUnavailableError if the keys cannot be fetched now.
   */
  async find(header: KeyHeader): Promise<PublicKey | undefined> {
    const cached = this.#usableKeys();
    if (cached === undefined) return matchingKey(await this.#currentKeys(), header);
    const found = await matchingKey(cached, header);
    if (found === undefined) return this.#findUnknown(header);
    if (this.#now() - cached.at > this.#maxAgeMs / 2) this.#fetch()?.catch(() => {});
    return found;
  }

  async #findUnknown(header: KeyHeader): Promise<PublicKey | undefined> {
    // Permits a fetch before `#nextAt`, but not more often than the burst allows. A running fetch is shared,
    // and after failures the pause between fetches applies.
    if (this.#fetching === undefined && this.#failures === 0) {
      const now = this.#now();
      if (this.#burstFullAt - (UNKNOWN_KEYS_BURST - 1) * this.#cooldownMs > now) return undefined;
      this.#burstFullAt = Math.max(now, this.#burstFullAt) + this.#cooldownMs;
      this.#nextAt = now;
    }
    const found = await matchingKey(await this.#currentKeys(), header);
    if (found === undefined && this.#failures > 0) throw this.#unavailable();
    return found;
  }

  #usableKeys(): CachedKeys | undefined {
    const cached = this.#cache;
    return cached !== undefined && this.#now() - cached.at <= this.#maxAgeMs ? cached : undefined;
  }

  async #currentKeys(): Promise<CachedKeys> {
    await this.#fetch()?.catch(() => {});
    const cached = this.#usableKeys();
    if (cached !== undefined) return cached;
    throw this.#unavailable();
  }

  #unavailable(): KeysUnavailableError {
    return new KeysUnavailableError(
      `could not fetch the keys of the identity provider: ${this.#lastFailure}`,
      Math.max(0, this.#nextAt - this.#now()),
    );
  }

  /** Returns undefined before the earliest time of the next fetch. */
  #fetch(): Promise<void> | undefined {
    if (this.#fetching === undefined && this.#now() >= this.#nextAt) {
      // Counted from the start of the fetch, so a slow provider receives no additional requests.
      this.#nextAt = this.#now() + this.#cooldownMs;
      this.#fetching = this.#load().finally(() => {
        this.#fetching = undefined;
      });
    }
    return this.#fetching;
  }

  async #load(): Promise<void> {
    try {
      const keys = keysIn(await this.#document());
      this.#cache = { keys, at: this.#now() };
      this.#failures = 0;
    } catch (error) {
      const { minRetryMs = MIN_RETRY_MS } = this.#options;
      this.#nextAt = this.#now() + Math.min(this.#cooldownMs, minRetryMs * 2 ** this.#failures);
      this.#failures = Math.min(this.#failures + 1, 30);
      this.#lastFailure = (error as Error).message;
      throw error;
    }
  }

  async #document(): Promise<Readonly<Record<string, unknown>>> {
    const { source, timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES } = this.#options;
    if ('jwksUrl' in source) return providerDocument(source.jwksUrl, { timeoutMs, maxBytes });
    const deadline = performance.now() + timeoutMs;
    const { jwks_uri: address, issuer } = await providerDocument(source.metadataUrl, { timeoutMs, maxBytes });
    if (source.issuer !== undefined && issuer !== source.issuer)
      throw new Error(`${source.metadataUrl.host} has metadata of another issuer`);
    if (typeof address !== 'string' || !URL.canParse(address))
      throw new Error(`${source.metadataUrl.host} has no jwks_uri`);
    return providerDocument(new URL(address), {
      timeoutMs: Math.max(1, Math.ceil(deadline - performance.now())),
      maxBytes,
    });
  }
}

/** Throws if the document is not a key set. Skips entries that are not public keys. */
function keysIn({ keys }: Readonly<Record<string, unknown>>): readonly CachedKey[] {
  if (!Array.isArray(keys)) throw new Error('the response of the provider is not a key set');
  return keys.slice(0, MAX_KEYS).flatMap((jwk: unknown) => {
    try {
      const set = { keys: [jwk] } as JSONWebKeySet;
      return [{ jwk: Object.freeze(set.keys[0] as JWK), resolve: createLocalJWKSet(set) }];
    } catch {
      return [];
    }
  });
}

async function matchingKey({ keys }: CachedKeys, header: KeyHeader): Promise<PublicKey | undefined> {
  const found: PublicKey[] = [];
  for (const { jwk, resolve } of keys) {
    if (header.kid !== undefined && jwk.kid !== header.kid) continue;
    // Rejects for a key of a different type, and for an unusable key.
    const key = await resolve({ ...header }).catch(() => undefined);
    if (key !== undefined) found.push({ key, jwk });
  }
  return found.length === 1 ? found[0] : undefined;
}
