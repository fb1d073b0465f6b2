// Parses the HTTP/1.1 responses of one connection (ADR6). Ambiguous input (RFC 9112, sections 6 and 7) is a fault and ends the
// connection.
//
// RP1  an answer has one head, then its body in pieces, then its end; interim answers (1xx) are passed over.
// RP2  what is kept is bounded: a head, a line of a chunk's size, the trailers. Pieces of the body are handed on as they come.
// RP3  wherever the bytes are cut, the same is told.

import type { ReadingTurn } from './paced-reader.ts';
import { HttpFault, ResponseHead } from './response-head.ts';

export interface ResponseReader {
  /** The head of a final answer. */
  onHead(head: ResponseHead): void;
  /** Gives how many bytes it has taken: all of them, unless `turn` is over before; the rest comes again. */
  onBody(piece: Buffer, turn: ReadingTurn | undefined): number;
  /** `isLast`: the connection carries no other request after this one. */
  onEnd(isLast: boolean): void;
}

const MAX_HEAD_BYTES = 16_384;
const MAX_SIZE_LINE_BYTES = 4_096;
/** Of interim answers and tiny chunks; between them nobody else looks whether the turn is over. */
const PARTS_AT_ONCE = 64;
const HEAD_END = Buffer.from('\r\n\r\n');
const CR = 0x0d;
const LF = 0x0a;

/** What the next bytes are. */
type Part = 'nothing' | 'head' | 'length' | 'size' | 'chunk' | 'chunkEnd' | 'trailers' | 'untilClose';

export class ResponseParser {
  readonly #reader: ResponseReader;
  #part: Part = 'nothing';
  /** The beginning of something that has not come whole yet. */
  #kept: Buffer | undefined;
  /** Bytes of the body, or of the chunk, that are still to come. */
  #left = 0;
  #isLast = false;
  #turn: ReadingTurn | undefined;
  /** Whoever reads has taken less than there was. */
  #isHeldUp = false;

  constructor(reader: ResponseReader) {
    this.#reader = reader;
  }

  /** A request is on its way: an answer may come. */
  expect(): void {
    this.#part = 'head';
  }

  /**
   * Gives how many bytes it has taken: all of them, unless `turn` is over before. Throws HttpFault; then nothing more may be
   * fed.
   */
  feed(chunk: Buffer, turn?: ReadingTurn): number {
    const keptBytes = this.#kept?.length ?? 0;
    const bytes = this.#kept === undefined ? chunk : Buffer.concat([this.#kept, chunk]);
    this.#kept = undefined;
    this.#turn = turn;
    this.#isHeldUp = false;
    let at = 0;
    let parts = 0;
    while (at < bytes.length) {
      const next = this.#read(bytes, at);
      // What was kept is never of a body, so it lies before the place.
      if (this.#isHeldUp) return next - keptBytes;
      if (next === at) {
        this.#kept = bytes.subarray(at);
        break;
      }
      at = next;
      parts += 1;
      // What stands behind the end of an answer is not left: it must not meet the next request.
      if (parts % PARTS_AT_ONCE === 0 && this.#part !== 'nothing' && turn?.isOver === true)
        return at - keptBytes;
    }
    return chunk.length;
  }

  /** The other side has closed. Throws HttpFault unless that is how the body ends. */
  finish(): void {
    if (this.#part !== 'untilClose') throw new HttpFault('the connection was closed', 'ECONNRESET');
    this.#isLast = true;
    this.#end();
  }

  /** Gives where it has come to; `at` itself when more is needed. */
  #read(bytes: Buffer, at: number): number {
    switch (this.#part) {
      case 'nothing':
        throw new HttpFault('it sent bytes that no request asked for');
      case 'head':
        return this.#readHead(bytes, at);
      case 'size':
        return this.#readSize(bytes, at);
      case 'chunkEnd':
        return this.#readChunkEnd(bytes, at);
      case 'trailers':
        return this.#readTrailers(bytes, at);
      case 'untilClose':
        return at + this.#give(at === 0 ? bytes : bytes.subarray(at));
      default:
        return this.#readBody(bytes, at);
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(HEAD_END, at);
    if (end === -1 ? bytes.length - at > MAX_HEAD_BYTES : end - at > MAX_HEAD_BYTES)
      throw new HttpFault(`the head of its answer is larger than ${MAX_HEAD_BYTES} bytes`);
    if (end === -1) {
      // Something that is no HTTP at all must not be waited for.
      if (!'HTTP/1.'.startsWith(bytes.toString('latin1', at, Math.min(at + 7, bytes.length))))
        throw new HttpFault('its answer does not begin with HTTP/1.');
      // Nor must the end of a head whose lines end otherwise.
      for (let lf = bytes.indexOf(LF, at); lf !== -1; lf = bytes.indexOf(LF, lf + 1))
        if (lf === at || bytes[lf - 1] !== CR)
          throw new HttpFault('a line of its head ends with a bare line feed');
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
      this.#left = bodyBytes;
    }
    this.#reader.onHead(head);
    if (bodyBytes === 0) this.#end();
  }

  #readBody(bytes: Buffer, at: number): number {
    const most = Math.min(bytes.length, at + this.#left);
    const taken = this.#give(at === 0 && most === bytes.length ? bytes : bytes.subarray(at, most));
    const end = at + taken;
    this.#left -= taken;
    if (this.#left > 0) return end;
    if (this.#part === 'chunk') this.#part = 'chunkEnd';
    else this.#end();
    return end;
  }

  #give(piece: Buffer): number {
    const taken = this.#reader.onBody(piece, this.#turn);
    this.#isHeldUp = taken < piece.length;
    return taken;
  }

  #readSize(bytes: Buffer, at: number): number {
    const lf = bytes.indexOf(LF, at);
    if ((lf === -1 ? bytes.length : lf) - at > MAX_SIZE_LINE_BYTES)
      throw new HttpFault('the line of a chunk in its answer has no end');
    if (lf === -1) return at;
    // An extension says nothing to us (RFC 9112, section 7.1.1).
    const [, digits] =
      /^([0-9a-fA-F]{1,12})(?:[ \t]*;[^\r\n]*)?\r$/.exec(bytes.toString('latin1', at, lf)) ?? [];
    if (digits === undefined) throw new HttpFault('a chunk of its answer has no size');
    this.#left = Number.parseInt(digits, 16);
    this.#part = this.#left === 0 ? 'trailers' : 'chunk';
    return lf + 1;
  }

  #readChunkEnd(bytes: Buffer, at: number): number {
    if (bytes[at] !== CR || (at + 1 < bytes.length && bytes[at + 1] !== LF))
      throw new HttpFault('a chunk of its answer is longer than its size');
    if (at + 1 === bytes.length) return at;
    this.#part = 'size';
    return at + 2;
  }

  /** They are nothing that we asked for; `#left` counts what has come of them. */
  #readTrailers(bytes: Buffer, at: number): number {
    const lf = bytes.indexOf(LF, at);
    const next = lf === -1 ? bytes.length : lf + 1;
    if (this.#left + next - at > MAX_HEAD_BYTES)
      throw new HttpFault(`the trailers of its answer are larger than ${MAX_HEAD_BYTES} bytes`);
    if (lf === -1) return at;
    if (lf === at || bytes[lf - 1] !== CR)
      throw new HttpFault('a trailer of its answer ends with a bare line feed');
    this.#left += next - at;
    if (lf === at + 1) this.#end();
    return next;
  }

  #end(): void {
    this.#part = 'nothing';
    this.#reader.onEnd(this.#isLast);
  }
}
