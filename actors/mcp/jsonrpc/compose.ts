// Messages the gateway writes itself. Ids are raw JSON in Latin-1, as rawOf() gives them.

import { type Message, PIECES_FROM, rawJson } from './span.ts';
import { withoutHalves } from './well-formed.ts';

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

/** As resultMessage, with the result as raw JSON. */
export function resultTextMessage(rawId: string, rawResult: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${rawId},"result":${rawResult}}`, 'latin1');
}

/** A result that is sent again and again: made into bytes once and never copied. */
export class KeptResult {
  /** With the brace that ends the message. */
  readonly #tail: Buffer;

  /** `rawResult` is the raw JSON of an object with members, in Latin-1. */
  constructor(rawResult: string) {
    this.#tail = Buffer.from(`${rawResult}}`, 'latin1');
  }

  /** Bytes in memory. */
  get size(): number {
    return this.#tail.length;
  }

  /** The result itself, as raw JSON in UTF-8. */
  get raw(): Buffer {
    return this.#tail.subarray(0, -1);
  }

  /** The message; `members` are raw JSON of further members, which come first. */
  message(rawId: string, members?: string): Message {
    const head = `{"jsonrpc":"2.0","id":${rawId},"result":`;
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
  // The message may quote a name, cut inside a character.
  const rawError = withoutHalves(rawJson(error));
  return Buffer.from(`{"jsonrpc":"2.0","id":${rawId ?? 'null'},"error":${rawError}}`, 'latin1');
}
