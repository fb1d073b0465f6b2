// Encrypts and authenticates the cursors of merged lists (of several servers): the positions that clients
// send for a further page (list-pages.ts). The keys are random and stay in the process, so only cursors that
// this process created for the same kind of list are valid. The nonce is derived from the text (like RFC
// 5297): equal texts produce equal cursors, and no nonce is used for two texts.

import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Maximum cursor length in characters; the gateway's cursors are much shorter. */
const MAX_LENGTH = 65_536;

export class CursorSeal {
  readonly #key = randomBytes(32);
  readonly #nonceKey = randomBytes(32);

  /** Returns a cursor with this content, bound to the kind of list. */
  seal(kind: string, text: string): string {
    const nonce = createHmac('sha256', this.#nonceKey)
      .update(`${kind}\0${text}`)
      .digest()
      .subarray(0, NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(kind));
    const encrypted = [cipher.update(text, 'utf8'), cipher.final()];
    return Buffer.concat([nonce, cipher.getAuthTag(), ...encrypted]).toString('base64url');
  }

  /** Returns a cursor's content. Throws RpcFault (-32602, as specified) for invalid cursors. */
  open(kind: string, cursor: string): string {
    const text = cursor.length <= MAX_LENGTH ? this.#decrypt(kind, cursor) : undefined;
    if (text === undefined) throw unknownCursor();
    return text;
  }

  #decrypt(kind: string, cursor: string): string | undefined {
    const bytes = Buffer.from(cursor, 'base64url');
    // The decoder ignores invalid characters and unused bits; only the exact encoding is valid.
    if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== cursor) return undefined;
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(kind));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    try {
      const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch {
      return undefined;
    }
  }
}

function unknownCursor(): RpcFault {
  return new RpcFault(
    rpcCodes.invalidParams,
    'the cursor belongs to another list or was created before a restart; start again without a cursor',
  );
}
