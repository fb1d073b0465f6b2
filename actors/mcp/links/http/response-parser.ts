// Parses HTTP/1.1 responses (docs/decisions.md, ADR6). Reports the head, pieces of the body, and the end;
// interim responses (1xx) are skipped. Ambiguous input (RFC 9112, sections 6 and 7) is a fault and closes the
// connection. Only an incomplete head, chunk size line or trailer is buffered. The result does not depend on
// how the input is split.

import type { ReadingTurn } from './paced-reader.ts';
import { HttpFault, ResponseHead } from './response-head.ts';

export interface ResponseReader {
  /** Head of the final response. */
  onHead(head: ResponseHead): void;
  /**
   * Returns the number of accepted bytes; fewer if `turn`, the reader's time slice, expires. The rest is
   * delivered later.
   */
  onBody(piece: Buffer, turn: ReadingTurn | undefined): number;
  /** `isLast`: the connection cannot carry another request. */
  onEnd(isLast: boolean): void;
}

const MAX_HEAD_BYTES = 16_384;
const MAX_SIZE_LINE_BYTES = 4_096;
/** Number of interim responses and tiny chunks between checks of the time slice. */
const PARTS_AT_ONCE = 64;
const HEAD_END = Buffer.from('\r\n\r\n');
const CR = 0x0d;
const LF = 0x0a;

/**
 * The input that the parser expects next. `length`: a body of known length. `size`: the size line of a chunk.
 * `untilClose`: a body that ends with the connection.
 */
type ExpectedPart = 'nothing' | 'head' | 'length' | 'size' | 'chunk' | 'chunkEnd' | 'trailers' | 'untilClose';

export class ResponseParser {
  readonly #reader: ResponseReader;
  #part: ExpectedPart = 'nothing';
  /** Received start of an incomplete head, size line or trailer. */
  #partial: Buffer | undefined;
  /** Remaining bytes of the body or chunk. */
  #remaining = 0;
  #isLast = false;
  /** The reader's time slice; undefined without a limit. */
  #turn: ReadingTurn | undefined;
  /** True if the reader has accepted only a part of the bytes. */
  #isPartlyAccepted = false;

  constructor(reader: ResponseReader) {
    this.#reader = reader;
  }

  /** Call it when a request is sent: a response may follow. */
  expect(): void {
    this.#part = 'head';
  }

  /**
   * Parses bytes and returns the number of accepted bytes; fewer if `turn`, the time slice, expires. Throws
   * HttpFault; the parser must not be used afterwards.
   */
  feed(chunk: Buffer, turn?: ReadingTurn): number {
    const partialBytes = this.#partial?.length ?? 0;
    const bytes = this.#partial === undefined ? chunk : Buffer.concat([this.#partial, chunk]);
    this.#partial = undefined;
    this.#turn = turn;
    this.#isPartlyAccepted = false;
    let at = 0;
    let parts = 0;
    while (at < bytes.length) {
      const next = this.#read(bytes, at);
      // Buffered bytes are never part of a body, so all of them come before this position.
      if (this.#isPartlyAccepted) return next - partialBytes;
      if (next === at) {
        this.#partial = bytes.subarray(at);
        break;
      }
      at = next;
      parts += 1;
      // Data after a response is parsed immediately, because it must not reach the next request.
      if (parts % PARTS_AT_ONCE === 0 && this.#part !== 'nothing' && turn?.isOver === true)
        return at - partialBytes;
    }
    return chunk.length;
  }

  /** Called when the server has closed the connection. Throws HttpFault unless that completes the body. */
  finish(): void {
    if (this.#part !== 'untilClose') throw new HttpFault('the connection was closed', 'ECONNRESET');
    this.#isLast = true;
    this.#end();
  }

  /** Parses the expected part. Returns the position after it, or `at` if more bytes are needed. */
  #read(bytes: Buffer, at: number): number {
    switch (this.#part) {
      case 'nothing':
        throw new HttpFault('received bytes without a request');
      case 'head':
        return this.#readHead(bytes, at);
      case 'size':
        return this.#readSize(bytes, at);
      case 'chunkEnd':
        return this.#readChunkEnd(bytes, at);
      case 'trailers':
        return this.#readTrailers(bytes, at);
      case 'untilClose':
        return at + this.#deliver(at === 0 ? bytes : bytes.subarray(at));
      default:
        return this.#readBody(bytes, at);
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(HEAD_END, at);
    if (end === -1 ? bytes.length - at > MAX_HEAD_BYTES : end - at > MAX_HEAD_BYTES)
      throw new HttpFault(`the head of the response is larger than ${MAX_HEAD_BYTES} bytes`);
    if (end === -1) {
      // Fail early on anything that is not HTTP.
      if (!'HTTP/1.'.startsWith(bytes.toString('latin1', at, Math.min(at + 7, bytes.length))))
        throw new HttpFault('the response does not begin with HTTP/1.');
      // Fail early on other line endings, because the end of the head would never be found.
      for (let lf = bytes.indexOf(LF, at); lf !== -1; lf = bytes.indexOf(LF, lf + 1))
        if (lf === at || bytes[lf - 1] !== CR)
          throw new HttpFault('a line of the head ends with a bare line feed');
      return at;
    }
    const head = new ResponseHead(bytes.toString('latin1', at, end));
    const next = end + HEAD_END.length;
    if (head.status < 200) return next;
    this.#isLast = !head.keepsConnection;
    this.#beginBody(head);
    return next;
  }

  #beginBody(head: ResponseHead): void {
    const { bodyBytes } = head;
    if (bodyBytes === 'chunked') this.#part = 'size';
    else if (bodyBytes === 'untilClose') this.#part = 'untilClose';
    else {
      this.#part = 'length';
      this.#remaining = bodyBytes;
    }
    this.#reader.onHead(head);
    if (bodyBytes === 0) this.#end();
  }

  #readBody(bytes: Buffer, at: number): number {
    const partEnd = Math.min(bytes.length, at + this.#remaining);
    const isAllBody = at === 0 && partEnd === bytes.length;
    const acceptedBytes = this.#deliver(isAllBody ? bytes : bytes.subarray(at, partEnd));
    const end = at + acceptedBytes;
    this.#remaining -= acceptedBytes;
    if (this.#remaining > 0) return end;
    if (this.#part === 'chunk') this.#part = 'chunkEnd';
    else this.#end();
    return end;
  }

  #deliver(piece: Buffer): number {
    const acceptedBytes = this.#reader.onBody(piece, this.#turn);
    this.#isPartlyAccepted = acceptedBytes < piece.length;
    return acceptedBytes;
  }

  #readSize(bytes: Buffer, at: number): number {
    const lf = bytes.indexOf(LF, at);
    if ((lf === -1 ? bytes.length : lf) - at > MAX_SIZE_LINE_BYTES)
      throw new HttpFault('a chunk size line of the response is too long');
    if (lf === -1) return at;
    // Chunk extensions are ignored (RFC 9112, section 7.1.1).
    const [, digits] =
      /^([0-9a-fA-F]{1,12})(?:[ \t]*;[^\r\n]*)?\r$/.exec(bytes.toString('latin1', at, lf)) ?? [];
    if (digits === undefined) throw new HttpFault('a chunk of the response has no size');
    this.#remaining = Number.parseInt(digits, 16);
    this.#part = this.#remaining === 0 ? 'trailers' : 'chunk';
    return lf + 1;
  }

  #readChunkEnd(bytes: Buffer, at: number): number {
    if (bytes[at] !== CR || (at + 1 < bytes.length && bytes[at + 1] !== LF))
      throw new HttpFault('a chunk of the response is longer than declared');
    if (at + 1 === bytes.length) return at;
    this.#part = 'size';
    return at + 2;
  }

  /** Skips the trailers. `#remaining` counts their bytes. */
  #readTrailers(bytes: Buffer, at: number): number {
    const lf = bytes.indexOf(LF, at);
    const next = lf === -1 ? bytes.length : lf + 1;
    if (this.#remaining + next - at > MAX_HEAD_BYTES)
      throw new HttpFault(`the trailers of the response are larger than ${MAX_HEAD_BYTES} bytes`);
    if (lf === -1) return at;
    if (lf === at || bytes[lf - 1] !== CR)
      throw new HttpFault('a trailer of the response ends with a bare line feed');
    this.#remaining += next - at;
    if (lf === at + 1) this.#end();
    return next;
  }

  #end(): void {
    this.#part = 'nothing';
    this.#reader.onEnd(this.#isLast);
  }
}
