// Which process something belongs to, sealed so that the nodes of the cluster alone can read it: in ids of sessions, and before the
// states of calls that wait for their client.
//
// SLI1  nothing of an instance can be read in what is sealed, two of one instance have nothing in common, and whoever has seen many
//      can guess no other: AES-256-GCM under a random nonce.
// SLI2  what was changed anywhere, was sealed for another purpose, or by another secret, opens to nothing.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { forgetOldest } from '../base/bounds/forget-oldest.ts';
import { derivedKey } from './derived-key.ts';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const INSTANCE_BYTES = 8;
const TAG_BYTES = 16;
/** 36 bytes in base64url: no bit of the last character is left over. */
const SEALED_CHARS = 48;
/** Sessions in use whose process need not be deciphered with each request. */
const MAX_OPENED = 4_096;
const sealed = /^[A-Za-z0-9_-]{48}$/;

type Purpose = 'session' | 'state';

/** A state of which it is known whose it is. */
export interface OpenedState {
  readonly instance: string;
  /** As it was before it was handed out. */
  readonly state: string;
}

export class SealedInstances {
  readonly #key: Buffer;
  readonly #own: Buffer;
  /** By ids of sessions. */
  readonly #opened = new Map<string, string>();

  /** `instance` in hex. */
  constructor(secret: string, instance: string) {
    this.#key = derivedKey(secret, 'instances');
    this.#own = Buffer.from(instance, 'hex');
  }

  /** A new id, which leads to this process. */
  newSessionId(): string {
    return this.#seal('session');
  }

  /** The process a session belongs to; undefined for what is no id. */
  instanceOf(sessionId: string): string | undefined {
    const opened = this.#opened.get(sessionId) ?? this.#open(sessionId, 'session');
    if (opened === undefined) return undefined;
    this.#opened.set(sessionId, opened);
    forgetOldest(this.#opened, MAX_OPENED);
    return opened;
  }

  /** The state as it is handed out by this process. */
  wrapState(state: string): string {
    return `${this.#seal('state')}.${state}`;
  }

  /** Undefined for one that no node has handed out. */
  openState(text: string): OpenedState | undefined {
    if (text[SEALED_CHARS] !== '.') return undefined;
    const instance = this.#open(text.slice(0, SEALED_CHARS), 'state');
    return instance === undefined ? undefined : { instance, state: text.slice(SEALED_CHARS + 1) };
  }

  #seal(purpose: Purpose): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(purpose));
    const body = Buffer.concat([cipher.update(this.#own), cipher.final()]);
    return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url');
  }

  #open(text: string, purpose: Purpose): string | undefined {
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
