// Composes messages of the gateway itself. Raw JSON is text with one character per byte, as `rawOf` and
// `rawJson` (span.ts) return it, so the messages are encoded as Latin-1. Ids are raw JSON.

import { replaceLoneSurrogates } from './lone-surrogates.ts';
import { type Message, PIECES_FROM, rawJson } from './span.ts';

export function requestMessage(rawId: string, method: string, params: unknown): Buffer {
  const tail = params === undefined ? '' : `,"params":${rawJson(params)}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":${rawId},"method":${rawJson(method)}${tail}}`, 'latin1');
}

export function notificationMessage(method: string, params?: unknown): Buffer {
  const tail = params === undefined ? '' : `,"params":${rawJson(params)}`;
  return Buffer.from(`{"jsonrpc":"2.0","method":${rawJson(method)}${tail}}`, 'latin1');
}

export function resultMessage(rawId: string, result: unknown): Buffer {
  return resultTextMessage(rawId, rawJson(result));
}

/** Like resultMessage, for raw JSON in Latin-1. */
export function resultTextMessage(rawId: string, rawResult: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${rawId},"result":${rawResult}}`, 'latin1');
}

/** A result for many requests, encoded once and never copied. */
export class EncodedResult {
  /** The result and the closing brace of the message. */
  readonly #tail: Buffer;

  /** `rawResult` is a non-empty object as raw JSON in Latin-1. */
  constructor(rawResult: string) {
    this.#tail = Buffer.from(`${rawResult}}`, 'latin1');
  }

  /** Size in memory, in bytes. */
  get size(): number {
    return this.#tail.length;
  }

  /** The result as raw JSON in UTF-8. */
  get raw(): Buffer {
    return this.#tail.subarray(0, -1);
  }

  /** Returns the response. `members` are further members as raw JSON, inserted at the start of the result. */
  message(rawId: string, members?: string): Message {
    const head = `{"jsonrpc":"2.0","id":${rawId},"result":`;
    // Further members replace the opening brace of the result.
    const [first, rest] =
      members === undefined ? [head, this.#tail] : [`${head}{${members},`, this.#tail.subarray(1)];
    const pieces = [Buffer.from(first, 'latin1'), rest];
    return rest.length < PIECES_FROM ? Buffer.concat(pieces) : pieces;
  }
}

export function errorMessage(
  rawId: string | undefined,
  code: number,
  message: string,
  data?: unknown,
): Buffer {
  const error = data === undefined ? { code, message } : { code, message, data };
  // The text may contain a name that was cut inside a character.
  const rawError = replaceLoneSurrogates(rawJson(error));
  return Buffer.from(`{"jsonrpc":"2.0","id":${rawId ?? 'null'},"error":${rawError}}`, 'latin1');
}
