// The public keys of an identity provider (JWKS, RFC 7517), fetched when a token needs them and kept for a while. The steady
// clock decides how long: whoever sets the machine's clock neither keeps a withdrawn key alive nor has the provider asked more.
//
// KS1 (A8)  one fetch at a time, whoever waits for it; it has a deadline and a bound, and so have the waits.
// KS2       a key that the set does not have makes the provider be asked again: twice in a row, since keys may change at any moment,
//           then once in `cooldownMs`, so that tokens with made-up key ids cost it next to nothing. After a failure the pauses
//           grow up to that, and whether such a key is one of the provider's is not known.
// KS3       keys are used for `maxAgeMs`. From half of it on they are fetched anew beside the tokens that use them, so that a
//           provider that is away for a while stops nobody; older ones are not used.
// KS4       a document that is no set of keys changes nothing.

import { type CryptoKey, createLocalJWKSet, type JSONWebKeySet, type JWK } from 'jose';
import { providerDocument } from './provider-document.ts';

export interface KeySetOptions {
  /** The address of the keys, or of the document of OpenID Connect Discovery that names it (`jwks_uri`). */
  readonly source:
    | { readonly jwksUrl: URL }
    | { readonly metadataUrl: URL; readonly issuer?: string | undefined };
  /** Of the whole fetch. @default 5000 */
  readonly timeoutMs?: number;
  /** Of one document. @default 1 MiB */
  readonly maxBytes?: number;
  /** @default 3600000 */
  readonly maxAgeMs?: number;
  /** @default 30000 */
  readonly cooldownMs?: number;
  /** @default 1000 */
  readonly minRetryMs?: number;
  /** In ms, of a clock that only goes forward. */
  readonly now?: () => number;
}

export interface PublicKey {
  readonly key: CryptoKey;
  /** As the provider wrote it, with members of its own such as `endorsements`. */
  readonly jwk: JWK;
}

/** What a token says of its key. */
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
/** Fetches for keys that the set does not have, one right after another. */
const UNKNOWN_KEYS_BURST = 2;
/** A provider has a handful; those beyond are not looked at. */
const MAX_KEYS = 200;

interface KeptKey {
  readonly jwk: JWK;
  readonly of: ReturnType<typeof createLocalJWKSet>;
}

interface KeptKeys {
  readonly keys: readonly KeptKey[];
  readonly at: number;
}

export class KeySet {
  readonly #options: KeySetOptions;
  readonly #now: () => number;
  readonly #maxAgeMs: number;
  readonly #cooldownMs: number;
  #kept: KeptKeys | undefined;
  #fetching: Promise<void> | undefined;
  /** Not before then is the provider asked again. */
  #nextAt = Number.NEGATIVE_INFINITY;
  /** When as many fetches for unknown keys as may follow each other are free again. */
  #burstWholeAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #lastFailure = '';

  constructor(options: KeySetOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#maxAgeMs = options.maxAgeMs ?? MAX_AGE_MS;
    this.#cooldownMs = options.cooldownMs ?? COOLDOWN_MS;
  }

  /**
   * The one key that fits; undefined when the provider has none, or when several fit a token that names none. Rejects with
   * KeysUnavailableError when the keys cannot be had now.
   */
  async find(header: KeyHeader): Promise<PublicKey | undefined> {
    const kept = this.#usable();
    if (kept === undefined) return fitting(await this.#fetched(), header);
    const found = await fitting(kept, header);
    if (found === undefined) return this.#findAnew(header);
    if (this.#now() - kept.at > this.#maxAgeMs / 2) this.#fetch()?.catch(() => {});
    return found;
  }

  async #findAnew(header: KeyHeader): Promise<PublicKey | undefined> {
    if (this.#fetching === undefined && this.#failures === 0) {
      const now = this.#now();
      if (this.#burstWholeAt - (UNKNOWN_KEYS_BURST - 1) * this.#cooldownMs > now) return undefined;
      this.#burstWholeAt = Math.max(now, this.#burstWholeAt) + this.#cooldownMs;
      this.#nextAt = now;
    }
    const found = await fitting(await this.#fetched(), header);
    if (found === undefined && this.#failures > 0) throw this.#unavailable();
    return found;
  }

  #usable(): KeptKeys | undefined {
    const kept = this.#kept;
    return kept !== undefined && this.#now() - kept.at <= this.#maxAgeMs ? kept : undefined;
  }

  async #fetched(): Promise<KeptKeys> {
    await this.#fetch()?.catch(() => {});
    const kept = this.#usable();
    if (kept !== undefined) return kept;
    throw this.#unavailable();
  }

  #unavailable(): KeysUnavailableError {
    return new KeysUnavailableError(
      `the keys of the identity provider cannot be had: ${this.#lastFailure}`,
      Math.max(0, this.#nextAt - this.#now()),
    );
  }

  /** Undefined when it is too soon to ask again. */
  #fetch(): Promise<void> | undefined {
    if (this.#fetching === undefined && this.#now() >= this.#nextAt) {
      // Until it has ended nobody asks anyway; from its beginning, so that a slow one is not asked more than a quick one.
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
      this.#kept = { keys, at: this.#now() };
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
    const until = performance.now() + timeoutMs;
    const { jwks_uri: address, issuer } = await providerDocument(source.metadataUrl, { timeoutMs, maxBytes });
    if (source.issuer !== undefined && issuer !== source.issuer)
      throw new Error(`${source.metadataUrl.host} describes another issuer`);
    if (typeof address !== 'string' || !URL.canParse(address))
      throw new Error(`${source.metadataUrl.host} names no jwks_uri`);
    return providerDocument(new URL(address), {
      timeoutMs: Math.max(1, Math.ceil(until - performance.now())),
      maxBytes,
    });
  }
}

/** Throws for what is no set of keys. What is no public key in it is left out. */
function keysIn({ keys }: Readonly<Record<string, unknown>>): readonly KeptKey[] {
  if (!Array.isArray(keys)) throw new Error('what the provider gave is no set of keys');
  return keys.slice(0, MAX_KEYS).flatMap((jwk: unknown) => {
    try {
      const set = { keys: [jwk] } as JSONWebKeySet;
      return [{ jwk: Object.freeze(set.keys[0] as JWK), of: createLocalJWKSet(set) }];
    } catch {
      return [];
    }
  });
}

async function fitting({ keys }: KeptKeys, header: KeyHeader): Promise<PublicKey | undefined> {
  const found: PublicKey[] = [];
  for (const { jwk, of } of keys) {
    if (header.kid !== undefined && jwk.kid !== header.kid) continue;
    // Rejects for a key of another kind, and for one that cannot be used.
    const key = await of({ ...header }).catch(() => undefined);
    if (key !== undefined) found.push({ key, jwk });
  }
  return found.length === 1 ? found[0] : undefined;
}
