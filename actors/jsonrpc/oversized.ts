// Finds the id of a JSON-RPC message that is too large to be kept. The message streams through; only the
// position in its structure is remembered, so that memory stays flat whatever the size.
// The id is looked for at the top level only: an `id` inside params or result is somebody else's.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MAX_TOKEN = 256;

export class OversizedMessage {
  /** Bytes seen so far. */
  size = 0;
  #id: string | undefined;
  #hasMethod = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isKey = true;
  #token = '';
  #key = '';

  /** The `id` of an answer as raw JSON in Latin-1 (`17`, `"a"`); none for other messages, or one over 255 bytes. */
  get id(): string | undefined {
    return this.#hasMethod ? undefined : this.#id;
  }

  /** The `id` of a request, as `id` gives that of an answer. It is as the sender wrote it and may be no JSON. */
  get requestId(): string | undefined {
    return this.#hasMethod ? this.#id : undefined;
  }

  feed(chunk: Uint8Array): void {
    this.size += chunk.length;
    for (const byte of chunk) this.#step(byte);
  }

  #step(byte: number): void {
    if (this.#isInString) {
      this.#keep(byte);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#isInString = false;
      return;
    }
    switch (byte) {
      case QUOTE:
        this.#isInString = true;
        this.#keep(byte);
        return;
      case 0x7b: // {
      case 0x5b: // [
        this.#depth += 1;
        return;
      case 0x7d: // }
      case 0x5d: // ]
        if (this.#depth === 1) this.#endMember();
        this.#depth -= 1;
        return;
      case 0x3a: // :
        if (this.#depth === 1 && this.#isKey) {
          this.#key = this.#token;
          this.#token = '';
          this.#isKey = false;
        }
        return;
      case 0x2c: // ,
        if (this.#depth === 1) this.#endMember();
        return;
      default:
        if (byte > 0x20) this.#keep(byte);
    }
  }

  #keep(byte: number): void {
    if (this.#depth === 1 && this.#token.length < MAX_TOKEN) this.#token += String.fromCharCode(byte);
  }

  #endMember(): void {
    const isWhole = this.#token.length < MAX_TOKEN;
    // An id beside a method is the server's own: it answers nothing of ours.
    if (!this.#isKey && this.#key === '"method"') this.#hasMethod = true;
    if (isWhole && !this.#isKey && this.#key === '"id"' && /^(".*"|-?\d[\d.eE+-]*)$/s.test(this.#token)) {
      this.#id ??= this.#token;
    }
    this.#token = '';
    this.#isKey = true;
  }
}
