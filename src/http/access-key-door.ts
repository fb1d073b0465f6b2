// Loads the access keys when the first request needs them: one with the text of a key, or one of the routes
// below /admin/keys. A gateway without keys opens no store for them, and loads no code.

import { existsSync } from 'node:fs';
import type { AccessKeys } from '../../actors/identity/access-keys/access-keys.ts';
import { INVALID_KEY, KEYS_UNAVAILABLE } from '../../actors/identity/access-keys/key-refusals.ts';
import { hasChecksum } from '../../actors/identity/access-keys/key-text.ts';
import type { KeyStream } from '../../actors/identity/access-keys/open-streams.ts';
import type { Principal, VerificationResult } from '../../actors/identity/principal.ts';
import { storeFileIn } from '../../actors/store/store-file.ts';
import type { StorePart } from '../../actors/store/store-part.ts';
import type { GatewayConfig } from '../../config/gateway-file/gateway-schema.ts';

/** Time after a failed attempt to open the store, in which requests are refused without another attempt. */
const RETRY_MS = 1_000;

export class AccessKeyDoor {
  readonly #store: Pick<StorePart, 'open'>;
  readonly #config: Pick<GatewayConfig, 'store' | 'state_dir'>;
  #keys: AccessKeys | undefined;
  #opening: Promise<AccessKeys> | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(store: Pick<StorePart, 'open'>, config: Pick<GatewayConfig, 'store' | 'state_dir'>) {
    this.#store = store;
    this.#config = config;
  }

  /** Verifies a text with the form of a key. Returns a promise only if keys must be read first. */
  principalOf(text: string): VerificationResult | Promise<VerificationResult> {
    if (this.#keys !== undefined) return this.#keys.principalOf(text);
    if (!hasChecksum(text) || !this.#mayHaveKeys) return INVALID_KEY;
    if (performance.now() - this.#failedAt < RETRY_MS) return KEYS_UNAVAILABLE;
    return this.open().then(
      (keys) => keys.principalOf(text),
      () => KEYS_UNAVAILABLE,
    );
  }

  /** Opens the store, and creates it if it is missing. Rejects with StoreUnavailableError. */
  open(): Promise<AccessKeys> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      this.#failedAt = performance.now();
      throw error;
    });
    return this.#opening;
  }

  /** Closes the response, if it is a stream, when the access key of the sender is revoked or expires. */
  watch({ keyId }: Principal, stream: KeyStream): void {
    if (keyId !== undefined) this.#keys?.watch(keyId, stream);
  }

  async close(): Promise<void> {
    await (await this.#opening?.catch(() => undefined))?.close();
  }

  async #open(): Promise<AccessKeys> {
    const store = await this.#store.open();
    const { AccessKeys } = await import('../../actors/identity/access-keys/access-keys.ts');
    this.#keys = await AccessKeys.open(store);
    return this.#keys;
  }

  /** False if this gateway certainly has no keys, because the store file is missing. */
  get #mayHaveKeys(): boolean {
    const { store, state_dir } = this.#config;
    return store.postgres !== undefined || existsSync(storeFileIn(state_dir));
  }
}
