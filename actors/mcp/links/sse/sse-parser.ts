// Parses a stream of server-sent events (WHATWG HTML, "Interpreting an event stream"). Works on bytes:
// decoding to text would change bytes that are not UTF-8, and a link forwards bytes unchanged (L3, link.ts).
// Libraries cannot skip an oversized event. Lines end with LF, CR or CRLF, anywhere in a chunk; `data` lines
// are joined with LF; a leading BOM, comments and unknown fields are ignored. Only the data of the current
// event is buffered, up to the limit.

import type { LargeMessage } from '../../jsonrpc/large-message.ts';
import type { ReadingTurn } from '../http/paced-reader.ts';
import { MessageBuffer } from '../message-buffer.ts';

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const NEW_LINE = Buffer.from([LF]);

const LONGEST_NAME = 'event'.length;
/**
 * Maximum length of an event id, which is sent back in a header; servers accept 8 to 16 KiB of headers in
 * total.
 */
const MAX_VALUE = 4096;

/** Valid header text, as latin1. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Stream state that outlives its connection: where to resume, and the reconnect delay. */
export interface SseCursor {
  /** Id of the last event, as latin1, byte for byte. If empty, the stream cannot be resumed. */
  lastEventId: string;
  retryMs: number | undefined;
}

export interface SseEvents {
  /** `type` is `message` by default. */
  onEvent(type: string, data: Buffer): void;
  /** The data exceeded the size limit and was dropped. `remains` has only its size and id. */
  onOversizedEvent(type: string, remains: LargeMessage): void;
}

export class SseParser {
  readonly #cursor: SseCursor;
  readonly #handler: SseEvents;
  readonly #data: MessageBuffer;
  #dataLines = 0;
  #type = '';
  #id: string;

  // Current line: its field name, then (after the colon) its value.
  #name = '';
  #value = '';
  #isInValue = false;
  /** True if the next byte may be the space after the colon, which is not part of the value. */
  #mayBeSpace = false;
  #isLineBegun = false;
  /** True if the last chunk ended with CR: an LF at the start of the next chunk ends no line. */
  #isLfSkipped = false;
  /** Number of bytes of the byte order mark read so far; undefined after the start of the stream. */
  #bomBytes: number | undefined = 0;

  constructor(maxDataBytes: number, cursor: SseCursor, handler: SseEvents) {
    this.#data = new MessageBuffer(maxDataBytes);
    this.#cursor = cursor;
    this.#handler = handler;
    this.#id = cursor.lastEventId;
  }

  /**
   * Parses the next bytes and calls the handler for each complete event. Returns the number of accepted
   * bytes; fewer if `turn`, the time slice, expires.
   */
  feed(chunk: Buffer, turn?: ReadingTurn): number {
    let at = this.#bomBytes === undefined ? 0 : this.#skipBom(chunk);
    if (this.#isLfSkipped && at < chunk.length) {
      this.#isLfSkipped = false;
      if (chunk[at] === LF) at += 1;
    }
    let lf = chunk.indexOf(LF, at);
    let cr = chunk.indexOf(CR, at);
    while (lf !== -1 || cr !== -1) {
      const isCr = cr !== -1 && (lf === -1 || cr < lf);
      const end = isCr ? cr : lf;
      if (end > at) this.#take(chunk.subarray(at, end));
      this.#endLine();
      at = end + 1;
      if (isCr) {
        if (at === chunk.length) this.#isLfSkipped = true;
        else if (chunk[at] === LF) at += 1;
        cr = chunk.indexOf(CR, at);
      }
      if (lf !== -1 && lf < at) lf = chunk.indexOf(LF, at);
      if (turn?.isOver === true) return at;
    }
    if (at < chunk.length) this.#take(chunk.subarray(at));
    return chunk.length;
  }

  /** Returns the number of bytes of the byte order mark in this chunk. An incomplete mark is text. */
  #skipBom(chunk: Buffer): number {
    let matched = this.#bomBytes ?? 0;
    let at = 0;
    while (matched < BOM.length && at < chunk.length) {
      if (chunk[at] !== BOM[matched]) {
        this.#bomBytes = undefined;
        // No mark: the matched bytes are text. If an earlier chunk has them, they are copied from BOM.
        if (matched > at) this.#take(BOM.subarray(0, matched));
        return matched > at ? at : 0;
      }
      matched += 1;
      at += 1;
    }
    this.#bomBytes = matched === BOM.length ? undefined : matched;
    return at;
  }

  #take(piece: Buffer): void {
    let at = 0;
    this.#isLineBegun = true;
    if (!this.#isInValue) {
      const colon = piece.indexOf(COLON);
      const end = colon === -1 ? piece.length : colon;
      // One byte more than the longest field name, to recognise longer names as unknown.
      const missing = LONGEST_NAME + 1 - this.#name.length;
      if (missing > 0) this.#name += piece.toString('latin1', 0, Math.min(end, missing));
      if (colon === -1) return;
      this.#isInValue = true;
      this.#mayBeSpace = true;
      at = colon + 1;
      if (this.#name === 'data') this.#beginData();
    }
    if (this.#mayBeSpace && at < piece.length) {
      this.#mayBeSpace = false;
      if (piece[at] === SPACE) at += 1;
    }
    if (at === piece.length) return;
    if (this.#name === 'data') this.#data.append(piece.subarray(at));
    else if (this.#needsValue()) this.#value += piece.toString('latin1', at, at + MAX_VALUE);
  }

  #needsValue(): boolean {
    return (
      this.#value.length < MAX_VALUE &&
      (this.#name === 'id' || this.#name === 'event' || this.#name === 'retry')
    );
  }

  #beginData(): void {
    if (this.#dataLines > 0) this.#data.append(NEW_LINE);
    this.#dataLines += 1;
  }

  #endLine(): void {
    if (!this.#isLineBegun) {
      this.#dispatch();
      return;
    }
    // A missing colon means an empty field value.
    if (this.#name === 'data' && !this.#isInValue) this.#beginData();
    else if (this.#name === 'event') this.#type = this.#value;
    else if (this.#name === 'retry') this.#setRetry();
    // An id that is too long or invalid cannot be sent back, so the stream cannot be resumed.
    else if (this.#name === 'id' && !this.#value.includes('\0'))
      this.#id = this.#value.length < MAX_VALUE && HEADER_VALUE.test(this.#value) ? this.#value : '';
    this.#name = '';
    this.#value = '';
    this.#isInValue = false;
    this.#mayBeSpace = false;
    this.#isLineBegun = false;
  }

  #setRetry(): void {
    if (/^\d{1,9}$/.test(this.#value)) this.#cursor.retryMs = Number(this.#value);
  }

  #dispatch(): void {
    const type = this.#type === '' ? 'message' : this.#type;
    const isEmpty = this.#data.length === 0;
    const data = this.#data.take();
    this.#type = '';
    this.#dataLines = 0;
    // The cursor is set before the handler is called, because the handler may read it.
    this.#cursor.lastEventId = this.#id;
    // An event without data only sets the id (WHATWG HTML).
    if (isEmpty) return;
    if (Buffer.isBuffer(data)) this.#handler.onEvent(type, data);
    else this.#handler.onOversizedEvent(type, data);
  }
}
