// Reads a stream of server-sent events on bytes (WHATWG HTML, "Interpreting an event stream").
// Why not a library: they parse text, and decoding would replace every byte sequence that is not UTF-8, so the
// message would no longer be what the server sent (L3); nor can they drop one giant event and go on.
// Lines end with LF, CR or CRLF, wherever the chunks are cut; `data` lines are joined with LF; a leading BOM,
// comments and unknown fields are ignored. Nothing but the data of one event is kept, and that within its limit.

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
/** An event id travels back in a request header, where servers take 8 to 16 KiB in all. */
const MAX_VALUE = 4096;

/** What a header can carry, as latin1. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What outlives one connection of a stream: where to resume it, and how long to wait before. */
export interface SseCursor {
  /** As latin1, byte for byte; empty = cannot be resumed. */
  lastEventId: string;
  retryMs: number | undefined;
}

export interface SseEvents {
  /** `type` is `message` where the stream names none. */
  onEvent(type: string, data: Buffer): void;
  onOversizedEvent(type: string, remains: LargeMessage): void;
}

export class SseParser {
  readonly #cursor: SseCursor;
  readonly #handler: SseEvents;
  readonly #data: MessageBuffer;
  #dataLines = 0;
  #type = '';
  #id: string;

  // The line being read: its field name, then (once the colon came) its value.
  #name = '';
  #value = '';
  #isInValue = false;
  #mayBeSpace = false;
  #isLineBegun = false;
  #isLfSkipped = false;
  #bomBytes: number | undefined = 0;

  constructor(maxDataBytes: number, cursor: SseCursor, handler: SseEvents) {
    this.#data = new MessageBuffer(maxDataBytes);
    this.#cursor = cursor;
    this.#handler = handler;
    this.#id = cursor.lastEventId;
  }

  /**
   * Takes the next bytes of the stream and calls the handler for each event that they complete. Gives how many it has taken:
   * all of them, unless `turn` is over before.
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

  /** How many bytes of `chunk` belong to the byte order mark; one that was cut short turns out to be text. */
  #skipBom(chunk: Buffer): number {
    let seen = this.#bomBytes ?? 0;
    let at = 0;
    while (seen < BOM.length && at < chunk.length) {
      if (chunk[at] !== BOM[seen]) {
        this.#bomBytes = undefined;
        if (seen > at) this.#take(BOM.subarray(0, seen));
        return seen > at ? at : 0;
      }
      seen += 1;
      at += 1;
    }
    this.#bomBytes = seen === BOM.length ? undefined : seen;
    return at;
  }

  #take(piece: Buffer): void {
    let at = 0;
    this.#isLineBegun = true;
    if (!this.#isInValue) {
      const colon = piece.indexOf(COLON);
      const end = colon === -1 ? piece.length : colon;
      // One byte more than the longest name we know is enough to tell that it is unknown.
      const wanted = LONGEST_NAME + 1 - this.#name.length;
      if (wanted > 0) this.#name += piece.toString('latin1', 0, Math.min(end, wanted));
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
    else if (this.#isKept()) this.#value += piece.toString('latin1', at, at + MAX_VALUE);
  }

  #isKept(): boolean {
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
    // A line without a colon is a field with an empty value.
    if (this.#name === 'data' && !this.#isInValue) this.#beginData();
    else if (this.#name === 'event') this.#type = this.#value;
    else if (this.#name === 'retry') this.#setRetry();
    // An id that is too long, or that no header carries, cannot be sent back: the stream counts as one that cannot be resumed.
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
    // Before the handler runs: it may ask where the stream stands.
    this.#cursor.lastEventId = this.#id;
    if (isEmpty) return;
    if (Buffer.isBuffer(data)) this.#handler.onEvent(type, data);
    else this.#handler.onOversizedEvent(type, data);
  }
}
