// Cursors of the merged lists: encrypted and authenticated texts that only this process can make or read.
//
// CU1  only a cursor that this process made for that kind of list opens: the key is random and never leaves the
//     process, the kind is authenticated with the text, and no second spelling of a cursor is taken for it.
// CU2  the same text gives the same cursor: the nonce comes from the text (as in RFC 5297), so that equal lists have
//     equal bytes and a nonce never serves two texts.

import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { RpcFault, rpcCodes } from '../../jsonrpc/rpc-fault.ts';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Far above any of ours; nothing longer is decoded. */
const MAX_LENGTH = 65_536;

export class CursorSeal {
  readonly #key = randomBytes(32);
  readonly #nonceKey = randomBytes(32);

  /** A cursor that holds `text`, for one kind of list. */
  seal(kind: string, text: string): string {
    const nonce = createHmac('sha256', this.#nonceKey)
      .update(`${kind}\0${text}`)
      .digest()
      .subarray(0, NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(kind));
    const sealed = [cipher.update(text, 'utf8'), cipher.final()];
    return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]).toString('base64url');
  }

  /** The text of a cursor. Throws RpcFault (-32602, as the specification asks) for anything but a cursor of ours. */
  open(kind: string, cursor: string): string {
    const text = cursor.length <= MAX_LENGTH ? this.#opened(kind, cursor) : undefined;
    if (text === undefined) throw unknownCursor();
    return text;
  }

  #opened(kind: string, cursor: string): string | undefined {
    const bytes = Buffer.from(cursor, 'base64url');
    // The decoder overlooks stray characters and the unused bits of the last one.
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
    'the cursor is not one of this list, or from before a restart of the gateway; start again without one',
  );
}
