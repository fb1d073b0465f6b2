// Encrypts ("seals") the instance id of this process in session ids, and in the states of calls that need
// input from the client. Only nodes of the cluster can decrypt it. With the instance id, each node finds the
// process that created the session or the state.
//
// AES-256-GCM with a random nonce: the ids reveal nothing, cannot be guessed, and two ids of one process have
// nothing in common. Modified ids, and ids for another purpose or secret, are rejected.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { deleteOldest } from '../base/bounds/delete-oldest.ts';
import { derivedKey } from './derived-key.ts';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const INSTANCE_BYTES = 8;
const TAG_BYTES = 16;
/** 36 bytes in base64url. The last character has no unused bits, so each id has only one spelling. */
const SEALED_CHARS = 48;
/** Maximum number of cached session ids. */
const MAX_OPENED = 4_096;
const sealed = /^[A-Za-z0-9_-]{48}$/;

type SealPurpose = 'session' | 'state';

/** State of a call, and the process that created it. */
export interface OpenedState {
  readonly instance: string;
  /** Original state. */
  readonly state: string;
}

export class SealedInstances {
  readonly #key: Buffer;
  readonly #own: Buffer;
  /** Instances by session id. */
  readonly #opened = new Map<string, string>();

  /** `instance` is hexadecimal. */
  constructor(secret: string, instance: string) {
    this.#key = derivedKey(secret, 'instances');
    this.#own = Buffer.from(instance, 'hex');
  }

  /** Returns a new session id, which contains the instance id of this process. */
  newSessionId(): string {
    return this.#seal('session');
  }

  /** Returns the session's instance; undefined for invalid ids. */
  instanceOf(sessionId: string): string | undefined {
    const opened = this.#opened.get(sessionId) ?? this.#open(sessionId, 'session');
    if (opened === undefined) return undefined;
    this.#opened.set(sessionId, opened);
    deleteOldest(this.#opened, MAX_OPENED);
    return opened;
  }

  /** Returns the state with the sealed instance of this process. */
  wrapState(state: string): string {
    return `${this.#seal('state')}.${state}`;
  }

  /** Opens a state; undefined if no node of the cluster sealed it. */
  openState(text: string): OpenedState | undefined {
    if (text[SEALED_CHARS] !== '.') return undefined;
    const instance = this.#open(text.slice(0, SEALED_CHARS), 'state');
    return instance === undefined ? undefined : { instance, state: text.slice(SEALED_CHARS + 1) };
  }

  #seal(purpose: SealPurpose): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(purpose));
    const body = Buffer.concat([cipher.update(this.#own), cipher.final()]);
    return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url');
  }

  #open(text: string, purpose: SealPurpose): string | undefined {
    if (!sealed.test(text)) return undefined;
    const bytes = Buffer.from(text, 'base64url');
    const end = NONCE_BYTES + INSTANCE_BYTES;
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(purpose))
      .setAuthTag(bytes.subarray(end));
    const instance = decipher.update(bytes.subarray(NONCE_BYTES, end));
    try {
      decipher.final();
    } catch {
      return undefined;
    }
    return instance.toString('hex');
  }
}
