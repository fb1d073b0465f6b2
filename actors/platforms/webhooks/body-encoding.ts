// Decodes webhook bodies: the content coding (gzip, deflate) and the character set. Signatures cover the
// encoded bytes, so a body is decoded after verification. A handler receives UTF-8.
//
// The decoded size is counted while decoding, and decoding stops at the limit. The bytes of concurrent
// decodings are limited.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGunzip, createInflate } from 'node:zlib';
import { Budget, Share } from '../../base/bounds/budget.ts';
import { OverloadedError } from '../../base/errors/errors.ts';
import type { WebhookReply, WebhookRequest } from './webhook.ts';

type Headers = WebhookRequest['headers'];

/** A slice takes one or two milliseconds. */
const SLICE_BYTES = 128 * 1024;
const MAX_DECODING_BYTES = 128 * 1024 * 1024;
/** Memory of a decoder in addition to its output. */
const DECODER_BYTES = 64 * 1024;

const decodingBudget = new Budget(MAX_DECODING_BYTES);

const decoders = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
]);

/** Returns the 415 response for an unsupported encoding; undefined for a supported one. */
export function refuseEncoding(headers: Headers): WebhookReply | undefined {
  const coding = codingOf(headers);
  if (coding !== undefined && !decoders.has(coding))
    return {
      status: 415,
      headers: [['accept-encoding', 'gzip, deflate']],
      body: 'the Content-Encoding is unsupported; send gzip, deflate, or no encoding',
    };
  const charset = charsetOf(headers);
  return charset !== undefined && decoderOf(charset) === undefined
    ? { status: 415, body: 'the charset in Content-Type is unknown; send UTF-8' }
    : undefined;
}

/**
 * Returns the body in UTF-8, or the response for a body that cannot be decoded; immediately if the body is
 * not encoded. Rejects with an OverloadedError if too many bytes are being decoded.
 */
export function decodeBody(
  headers: Headers,
  body: Buffer,
  maxBytes: number,
): Buffer | Promise<Buffer | WebhookReply> {
  const coding = codingOf(headers);
  const charset = charsetOf(headers);
  if (body.length === 0 || (coding === undefined && charset === undefined)) return body;
  return decode(body, { coding, charset, maxBytes });
}

interface Encoding {
  readonly coding: string | undefined;
  readonly charset: string | undefined;
  readonly maxBytes: number;
}

async function decode(body: Buffer, { coding, charset, maxBytes }: Encoding): Promise<Buffer | WebhookReply> {
  const bounds = new Bounds(maxBytes);
  try {
    const bytes = coding === undefined ? body : await decompress(coding, body, bounds);
    return charset === undefined ? bytes : await transcode(charset, bytes, bounds);
  } catch (error) {
    if (error instanceof TooLargeError)
      return { status: 413, body: `the decoded body is larger than ${maxBytes} bytes` };
    if (error instanceof OverloadedError) throw error;
    return { status: 400, body: `the body is not ${coding ?? charset}, or is incomplete` };
  } finally {
    bounds.release();
  }
}

class TooLargeError extends Error {}

/** Output of a body's decoders. */
class Bounds {
  readonly #maxBytes: number;
  readonly #share = new Share();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#acquire(DECODER_BYTES);
  }

  /** Adds a piece of the output. Throws if the output is too large. */
  add(pieces: Buffer[], piece: Buffer, sizeBefore: number): number {
    const size = sizeBefore + piece.length;
    if (size > this.#maxBytes) throw new TooLargeError();
    this.#acquire(piece.length);
    pieces.push(piece);
    return size;
  }

  release(): void {
    decodingBudget.release(this.#share.used, this.#share);
  }

  #acquire(bytes: number): void {
    if (!decodingBudget.acquire(bytes, this.#share))
      throw new OverloadedError('too many encoded bodies are being received; try again');
  }
}

async function decompress(coding: string, body: Buffer, bounds: Bounds): Promise<Buffer> {
  const decoder = decoders.get(coding)?.() ?? unsupported(coding);
  const pieces: Buffer[] = [];
  let size = 0;
  decoder.end(body);
  // The loop destroys the decoder when it ends early.
  for await (const piece of decoder) size = bounds.add(pieces, piece as Buffer, size);
  return Buffer.concat(pieces, size);
}

async function transcode(charset: string, body: Buffer, bounds: Bounds): Promise<Buffer> {
  const decoder = decoderOf(charset) ?? unsupported(charset);
  const pieces: Buffer[] = [];
  let size = 0;
  for (let at = 0; at < body.length; at += SLICE_BYTES) {
    if (at > 0) await nextTurn();
    const text = decoder.decode(body.subarray(at, at + SLICE_BYTES), { stream: true });
    size = bounds.add(pieces, Buffer.from(text), size);
  }
  size = bounds.add(pieces, Buffer.from(decoder.decode()), size);
  return Buffer.concat(pieces, size);
}

function unsupported(encoding: string): never {
  throw new Error(`unsupported encoding ${encoding}`);
}

/** Returns the content coding in lower case; undefined without one. */
function codingOf(headers: Headers): string | undefined {
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  return coding === '' || coding === 'identity' ? undefined : coding;
}

/**
 * Returns the character set; undefined for UTF-8 and ASCII. A form is ASCII in every character set, and its
 * escaped bytes are UTF-8 (URL Standard).
 */
function charsetOf(headers: Headers): string | undefined {
  const type = headers['content-type'] ?? '';
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(type)?.[1]?.toLowerCase();
  const isUtf8 = charset === undefined || /^(?:utf-?8|us-ascii|ascii)$/.test(charset);
  return isUtf8 || /^application\/x-www-form-urlencoded\b/i.test(type) ? undefined : charset;
}

function decoderOf(charset: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(charset, { fatal: true });
  } catch {
    return undefined;
  }
}
