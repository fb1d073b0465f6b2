// A large message, scanned while it arrives. Its pieces are never joined, so memory holds the message once.
// Above the size limit its pieces are dropped, and only size and id remain. The id is read from the outermost
// object, never inside `params` or `result`.

import { markLength } from '../../../config/reader/json-text.ts';
import { Envelope } from './envelope.ts';
import { MAX_TOKEN, PushScanner } from './push-scanner.ts';
import { toOneLine } from './read-message.ts';
import { type Span, toBuffer } from './span.ts';
import { isToolError } from './tool-error.ts';

const CR = 0x0d;

export class LargeMessage {
  /** The received pieces, set after the last one; undefined if they were dropped. */
  pieces: readonly Buffer[] | undefined;
  readonly #scanner = new PushScanner((rawName, value, raw) => this.#recordMember(rawName, value, raw));
  #size = 0;
  #rawId: string | undefined;
  #hasMethod = false;
  #id: Span | undefined;
  #result: Span | undefined;
  #error: Span | undefined;
  /** True for duplicate and null members, and for members invalid in a response. */
  #isInvalid = false;

  /** Total size in bytes. `trimLineEnd` reduces it. */
  get size(): number {
    return this.#size;
  }

  /**
   * Response id as raw JSON in Latin-1 (`17`, `"a"`); undefined for requests, notifications and ids over 255
   * bytes.
   */
  get id(): string | undefined {
    return this.#hasMethod ? undefined : this.#rawId;
  }

  /** Request id in the same format. */
  get requestId(): string | undefined {
    return this.#hasMethod ? this.#rawId : undefined;
  }

  feed(piece: Buffer): void {
    const mark = this.#size === 0 ? markLength(piece) : 0;
    // A byte order mark shifts the positions, so readServerMessage reads the message as a whole.
    if (mark > 0) this.#isInvalid = true;
    this.#scanner.feed(mark === 0 ? piece : piece.subarray(mark));
    this.#size += piece.length;
  }

  /** Removes the CR from the end. */
  trimLineEnd(): void {
    const last = this.pieces?.at(-1);
    if (this.pieces === undefined || last?.at(-1) !== CR) return;
    this.pieces = [...this.pieces.slice(0, -1), last.subarray(0, -1)];
    this.#size -= 1;
  }

  /** Returns the envelope of a valid response; undefined for a message that readServerMessage must read. */
  answer(): Envelope | undefined {
    const hasOutcome = (this.#result === undefined) !== (this.#error === undefined);
    if (this.pieces === undefined || !this.#scanner.isComplete) return undefined;
    if (this.#isInvalid || this.#hasMethod || this.#rawId === undefined || !hasOutcome) return undefined;
    // A line break at `#size` or later was trimmed.
    if ((this.#scanner.firstLineBreak ?? this.#size) < this.#size) this.pieces.forEach(toOneLine);
    const envelope = new Envelope(this.pieces);
    envelope.kind = 'answer';
    envelope.id = this.#id;
    envelope.result = this.#result;
    envelope.error = this.#error;
    envelope.isToolError = isToolError(this.pieces, envelope);
    return envelope;
  }

  /** Returns the message in one buffer; empty if dropped. */
  whole(): Buffer {
    return toBuffer(this.pieces ?? []);
  }

  #recordMember(rawName: string, value: Span, raw: string): void {
    switch (nameOf(rawName)) {
      case 'id':
        this.#isInvalid ||= this.#id !== undefined;
        this.#id ??= value;
        // Only a string or number that was not cut is an id.
        if (raw.length < MAX_TOKEN && /^["\d-]/.test(raw)) this.#rawId ??= raw;
        break;
      case 'result':
        this.#isInvalid ||= this.#result !== undefined;
        this.#result = value;
        break;
      case 'error':
        this.#isInvalid ||= this.#error !== undefined || raw === 'null';
        this.#error = value;
        break;
      case 'method':
        if (raw === 'null') this.#isInvalid = true;
        else this.#hasMethod = true;
        break;
      case 'params':
        this.#isInvalid = true;
    }
  }
}

function nameOf(rawName: string): string {
  // The name may be cut.
  if (rawName.length >= MAX_TOKEN) return '';
  return rawName.includes('\\') ? (JSON.parse(rawName) as string) : rawName.slice(1, -1);
}
