// Walks JSON text as bytes and tells where its parts stand, so that a message can be forwarded as received:
// integers over 2^53, `1.0`, key order and unknown members survive, because nothing is parsed and written again.
// It checks the whole grammar (RFC 8259), since a malformed message must never reach a shared server.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LF = 0x0a;
const CR = 0x0d;

/** A string is taken for a long one from here on. */
export const LONG_STRING = 64;

/** 1 for what may stand behind a backslash, beside u. */
export const isEscape = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number('"\\/bfnrt'.includes(String.fromCharCode(byte))),
);

/** Deeper nesting than this is refused: no real message needs it, and recursive parsers behind us may break. */
export const MAX_DEPTH = 256;

/** The text is not JSON. `at` is a byte offset. */
export class NotJsonError extends Error {
  readonly at: number;
  constructor(what: string, at: number) {
    super(`${what} at byte ${at}`);
    this.at = at;
  }
}

/** The text is nested deeper than MAX_DEPTH. */
export class TooDeepError extends NotJsonError {}

export class JsonScanner {
  readonly bytes: Buffer;
  pos: number;
  /** A line break stood between tokens: such a text is no single line yet. */
  hasLineBreak = false;
  /** The bytes from the first whole word of memory on, four by four. */
  #words: Int32Array | undefined;

  constructor(bytes: Buffer, pos = 0) {
    this.bytes = bytes;
    this.pos = pos;
  }

  fail(what: string): never {
    throw new NotJsonError(what, this.pos);
  }

  /** Skips white space and gives the next byte without taking it; -1 at the end. */
  peek(): number {
    const { bytes } = this;
    for (;;) {
      const byte = bytes[this.pos];
      if (byte === undefined) return -1;
      if (byte > 0x20) return byte;
      if (byte === LF || byte === CR) this.hasLineBreak = true;
      else if (byte !== 0x20 && byte !== 0x09) this.fail('unexpected control character');
      this.pos += 1;
    }
  }

  /** Takes `byte` if it is next. */
  take(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.pos += 1;
    return true;
  }

  /** Only white space may follow. */
  end(): void {
    if (this.peek() !== -1) this.fail('unexpected text after the end');
  }

  /** Walks over one string; `pos` must be at its opening quote. */
  string(): void {
    const { bytes } = this;
    if (bytes[this.pos] !== QUOTE) this.fail('expected a string');
    let pos = this.pos + 1;
    const stop = pos + LONG_STRING;
    for (;;) {
      const byte = bytes[pos];
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) pos = this.#afterEscape(pos);
      else if (byte === undefined || byte < 0x20) this.#failInString(pos);
      else pos += 1;
      if (pos >= stop) {
        pos = this.#endOfLong(pos);
        break;
      }
    }
    this.pos = pos + 1;
  }

  /**
   * The closing quote of a string, from inside it. Goes over plain text four bytes at a time: a large message is
   * little else.
   */
  #endOfLong(from: number): number {
    const { bytes } = this;
    const lead = -bytes.byteOffset & 3;
    this.#words ??= new Int32Array(bytes.buffer, bytes.byteOffset + lead, (bytes.length - lead) >> 2);
    const words = this.#words;
    const count = words.length;
    let pos = from;
    for (;;) {
      const byte = bytes[pos];
      if (byte === QUOTE) return pos;
      if (byte === BACKSLASH) pos = this.#afterEscape(pos);
      else if (byte === undefined || byte < 0x20) this.#failInString(pos);
      else pos += 1;
      if (((pos - lead) & 3) !== 0) continue;
      let at = (pos - lead) >> 2;
      while (at < count && isPlain(words[at] ?? 0)) at += 1;
      pos = lead + at * 4;
    }
  }

  /** Behind the escape whose backslash is at `pos`. */
  #afterEscape(pos: number): number {
    const { bytes } = this;
    const escaped = bytes[pos + 1];
    if (escaped === 0x75) {
      for (let digit = pos + 2; digit < pos + 6; digit += 1) {
        if (isHex(bytes[digit])) continue;
        this.pos = digit;
        this.fail('bad unicode escape');
      }
      return pos + 6;
    }
    if (escaped === undefined || isEscape[escaped] !== 1) {
      this.pos = pos + 2;
      this.fail('bad escape');
    }
    return pos + 2;
  }

  #failInString(pos: number): never {
    this.pos = pos;
    this.fail(this.bytes[pos] === undefined ? 'unterminated string' : 'control character in a string');
  }

  /** Walks over one value of any kind. */
  value(depth: number): void {
    const byte = this.peek();
    if (byte === QUOTE) this.string();
    else if (byte === 0x7b) this.object(depth, undefined);
    else if (byte === 0x5b) this.array(depth, undefined);
    else if (byte === 0x74) this.#literal('true');
    else if (byte === 0x66) this.#literal('false');
    else if (byte === 0x6e) this.#literal('null');
    else this.#number();
  }

  /**
   * Walks over an object; `pos` must be at its brace. With `onMember` the caller takes each value itself:
   * it is called with `pos` at the value's first byte and must leave it behind the value; `keyStart` is where the
   * member begins.
   */
  object(depth: number, onMember: ((key: string, keyStart: number) => void) | undefined): void {
    if (depth > MAX_DEPTH) this.#failAtDepth();
    this.pos += 1;
    if (this.take(0x7d)) return;
    do {
      this.peek();
      const start = this.pos;
      this.string();
      const stop = this.pos;
      if (!this.take(0x3a)) this.fail('expected a colon');
      if (onMember === undefined) this.value(depth + 1);
      else {
        this.peek();
        onMember(textOf(this.bytes, start, stop), start);
      }
    } while (this.take(0x2c));
    if (!this.take(0x7d)) this.fail('expected a comma or a brace');
  }

  /** Walks over an array; `pos` must be at its bracket. `onItem` works like `onMember`. */
  array(depth: number, onItem: (() => void) | undefined): void {
    if (depth > MAX_DEPTH) this.#failAtDepth();
    this.pos += 1;
    if (this.take(0x5d)) return;
    do {
      if (onItem === undefined) this.value(depth + 1);
      else {
        this.peek();
        onItem();
      }
    } while (this.take(0x2c));
    if (!this.take(0x5d)) this.fail('expected a comma or a bracket');
  }

  #failAtDepth(): never {
    throw new TooDeepError(`nested too deeply (more than ${MAX_DEPTH} levels)`, this.pos);
  }

  #literal(word: string): void {
    for (let i = 0; i < word.length; i += 1) {
      if (this.bytes[this.pos + i] !== word.charCodeAt(i)) this.fail('expected a value');
    }
    this.pos += word.length;
  }

  #number(): void {
    const { bytes } = this;
    let pos = this.pos;
    if (bytes[pos] === 0x2d) pos += 1;
    const first = pos;
    while (isDigit(bytes[pos])) pos += 1;
    if (pos === first || (bytes[first] === 0x30 && pos > first + 1)) this.fail('expected a value');
    if (bytes[pos] === 0x2e) {
      const fraction = ++pos;
      while (isDigit(bytes[pos])) pos += 1;
      if (pos === fraction) this.fail('bad number');
    }
    if (bytes[pos] === 0x65 || bytes[pos] === 0x45) {
      pos += 1;
      if (bytes[pos] === 0x2b || bytes[pos] === 0x2d) pos += 1;
      const exponent = pos;
      while (isDigit(bytes[pos])) pos += 1;
      if (pos === exponent) this.fail('bad number');
    }
    this.pos = pos;
  }
}

/** Whether four bytes at once are plain text of a string: no quote, no backslash, no control character. */
export function isPlain(word: number): boolean {
  // In the first a byte below 0x21 is a control character or a quote, in the second one below 1 a backslash. A borrow
  // comes only out of such a byte, so that it can add to what is found but hide nothing.
  const quotes = word ^ 0x02020202;
  const slashes = word ^ 0x5c5c5c5c;
  const found = ((quotes - 0x21212121) & ~quotes) | ((slashes - 0x01010101) & ~slashes);
  return (found & 0x80808080) === 0;
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

export function isHex(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

/** What stands in nearly every message, by length: known by its bytes, no text is made of it again and again. */
const words = wordsByLength([
  ...[
    'id',
    '2.0',
    'name',
    '_meta',
    'error',
    'method',
    'params',
    'result',
    'jsonrpc',
    'arguments',
    'tools/call',
  ],
  ...['progressToken', 'structuredContent', 'notifications/progress'],
  ...['2026-07-28', 'io.modelcontextprotocol/protocolVersion', 'io.modelcontextprotocol/clientInfo'],
  ...['io.modelcontextprotocol/clientCapabilities', 'io.modelcontextprotocol/logLevel'],
  ...['content', 'resultType', 'io.modelcontextprotocol/serverInfo'],
]);

function wordsByLength(all: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: 48 }, (_, length) => all.filter((word) => word.length === length));
}

function isAt(bytes: Buffer, start: number, word: string): boolean {
  for (let i = 0; i < word.length; i += 1) if (bytes[start + i] !== word.charCodeAt(i)) return false;
  return true;
}

/** The text of a JSON string that stands at `start…end`, quotes included; escapes are resolved. */
export function textOf(bytes: Buffer, start: number, end: number): string {
  for (const word of words[end - start - 2] ?? []) if (isAt(bytes, start + 1, word)) return word;
  const raw = bytes.toString('utf8', start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}
