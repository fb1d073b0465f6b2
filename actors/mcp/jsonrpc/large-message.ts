// A message so large that it is read while it arrives. Its pieces are kept as they came and never put together, so that
// memory holds it once; or, beyond the limit, they are dropped, and only its size and id are known in the end.
// The id is that of the outermost object: an `id` inside params or result is somebody else's.

import { Envelope } from './envelope.ts';
import { MAX_TOKEN, PushScanner } from './push-scanner.ts';
import { toOneLine } from './read-message.ts';
import { type Span, whole } from './span.ts';

const CR = 0x0d;

export class LargeMessage {
  /** What arrived; set once all is there, unless it was dropped. */
  pieces: readonly Buffer[] | undefined;
  readonly #scanner = new PushScanner((rawName, value, raw) => this.#note(rawName, value, raw));
  #size = 0;
  #rawId: string | undefined;
  #hasMethod = false;
  #id: Span | undefined;
  #result: Span | undefined;
  #error: Span | undefined;
  /** It has members that an answer has not, or one of them twice. */
  #isOdd = false;

  /** Bytes in all, without what `trimLineEnd` took. */
  get size(): number {
    return this.#size;
  }

  /** The `id` of an answer as raw JSON in Latin-1 (`17`, `"a"`); none for other messages, or one over 255 bytes. */
  get id(): string | undefined {
    return this.#hasMethod ? undefined : this.#rawId;
  }

  /** The `id` of a request, as `id` gives that of an answer. */
  get requestId(): string | undefined {
    return this.#hasMethod ? this.#rawId : undefined;
  }

  feed(piece: Buffer): void {
    this.#scanner.feed(piece);
    this.#size += piece.length;
  }

  /** Takes the CR of a line end off the pieces. */
  trimLineEnd(): void {
    const last = this.pieces?.at(-1);
    if (this.pieces === undefined || last?.at(-1) !== CR) return;
    this.pieces = [...this.pieces.slice(0, -1), last.subarray(0, -1)];
    this.#size -= 1;
  }

  /**
   * The answer that it is, in pieces; undefined when it is anything else, right or wrong: what is no answer is for
   * readServerMessage, which tells what it is.
   */
  answer(): Envelope | undefined {
    const hasOne = (this.#result === undefined) !== (this.#error === undefined);
    if (this.pieces === undefined || !this.#scanner.isComplete) return undefined;
    if (this.#isOdd || this.#hasMethod || this.#rawId === undefined || !hasOne) return undefined;
    if ((this.#scanner.firstLineBreak ?? this.#size) < this.#size) this.pieces.forEach(toOneLine);
    const envelope = new Envelope(this.pieces);
    envelope.kind = 'answer';
    envelope.id = this.#id;
    envelope.result = this.#result;
    envelope.error = this.#error;
    return envelope;
  }

  /** The message put together; empty when it was dropped. */
  whole(): Buffer {
    return whole(this.pieces ?? []);
  }

  #note(rawName: string, value: Span, raw: string): void {
    switch (nameOf(rawName)) {
      case 'id':
        this.#isOdd ||= this.#id !== undefined;
        this.#id ??= value;
        // No object, array, literal or what was cut off.
        if (raw.length < MAX_TOKEN && /^["\d-]/.test(raw)) this.#rawId ??= raw;
        break;
      case 'result':
        this.#isOdd ||= this.#result !== undefined;
        this.#result = value;
        break;
      case 'error':
        this.#isOdd ||= this.#error !== undefined;
        this.#error = value;
        break;
      case 'method':
        this.#hasMethod = true;
        break;
      case 'params':
        this.#isOdd = true;
    }
  }
}

function nameOf(rawName: string): string {
  // It may have been cut off.
  if (rawName.length >= MAX_TOKEN) return '';
  return rawName.includes('\\') ? (JSON.parse(rawName) as string) : rawName.slice(1, -1);
}
