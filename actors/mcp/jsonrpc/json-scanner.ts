// Scans JSON text as bytes and reports the positions of members and values. Messages are forwarded as
// received, not parsed and reserialised: integers over 2^53, `1.0`, the order of keys and unknown members
// are preserved. The full grammar (RFC 8259) is checked, because a malformed message must not reach a shared
// server.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const LOWER_U = 0x75;
const BRACE = 0x7b;
const BRACKET = 0x5b;
const END_BRACE = 0x7d;
const COLON = 0x3a;
const COMMA = 0x2c;
const END_BRACKET = 0x5d;
const DASH = 0x2d;
const DIGIT_0 = 0x30;
const DOT = 0x2e;
const LOWER_E = 0x65;
const UPPER_E = 0x45;
const PLUS = 0x2b;
const DIGIT_9 = 0x39;

/** Strings of this length or more, in bytes, are scanned four bytes at a time. */
export const LONG_STRING = 64;

/** 1 for each byte that may follow a backslash, except `u`. */
export const isEscape = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number('"\\/bfnrt'.includes(String.fromCharCode(byte))),
);

/**
 * Maximum nesting depth. Recursive parsers of servers may fail on deeper messages; real messages are not so
 * deep.
 */
export const MAX_DEPTH = 256;

/** Invalid JSON. `at` is a byte offset. */
export class NotJsonError extends Error {
  readonly at: number;
  constructor(problem: string, at: number) {
    super(`${problem} at byte ${at}`);
    this.at = at;
  }
}

/** Nesting deeper than MAX_DEPTH. */
export class TooDeepError extends NotJsonError {}

export class JsonScanner {
  readonly bytes: Buffer;
  pos: number;
  /** True if there was a line break between tokens. */
  hasLineBreak = false;
  /** The bytes as 32-bit words, from the first aligned byte. */
  #words: Int32Array | undefined;

  constructor(bytes: Buffer, pos = 0) {
    this.bytes = bytes;
    this.pos = pos;
  }

  fail(problem: string): never {
    throw new NotJsonError(problem, this.pos);
  }

  /** Skips white space and returns the next byte without consuming it; -1 at the end. */
  peek(): number {
    const { bytes } = this;
    for (;;) {
      const byte = bytes[this.pos];
      if (byte === undefined) return -1;
      if (byte > SPACE) return byte;
      if (byte === LF || byte === CR) this.hasLineBreak = true;
      else if (byte !== SPACE && byte !== TAB) this.fail('unexpected control character');
      this.pos += 1;
    }
  }

  /** Consumes the next byte if it equals `byte`. */
  take(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.pos += 1;
    return true;
  }

  /** Throws NotJsonError unless only white space follows. */
  end(): void {
    if (this.peek() !== -1) this.fail('unexpected text after the end');
  }

  /** Scans a string; `pos` must be at its opening quote. */
  string(): void {
    const { bytes } = this;
    if (bytes[this.pos] !== QUOTE) this.fail('expected a string');
    let pos = this.pos + 1;
    const stop = pos + LONG_STRING;
    for (;;) {
      const byte = bytes[pos];
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) pos = this.#afterEscape(pos);
      else if (byte === undefined || byte < SPACE) this.#failInString(pos);
      else pos += 1;
      if (pos >= stop) {
        pos = this.#endOfLongString(pos);
        break;
      }
    }
    this.pos = pos + 1;
  }

  /**
   * Returns the position of the closing quote; `from` is inside the string. Scans four bytes at a time,
   * because large messages are mainly plain text.
   */
  #endOfLongString(from: number): number {
    const { bytes } = this;
    // Bytes before the first aligned word. `& 3`, `>> 2` and `* 4` convert between bytes and words.
    const lead = -bytes.byteOffset & 3;
    this.#words ??= new Int32Array(bytes.buffer, bytes.byteOffset + lead, (bytes.length - lead) >> 2);
    const words = this.#words;
    const count = words.length;
    let pos = from;
    for (;;) {
      const byte = bytes[pos];
      if (byte === QUOTE) return pos;
      if (byte === BACKSLASH) pos = this.#afterEscape(pos);
      else if (byte === undefined || byte < SPACE) this.#failInString(pos);
      else pos += 1;
      if (((pos - lead) & 3) !== 0) continue;
      let at = (pos - lead) >> 2;
      while (at < count && isPlain(words[at] ?? 0)) at += 1;
      pos = lead + at * 4;
    }
  }

  /** Returns the end position of the escape at `pos`. */
  #afterEscape(pos: number): number {
    const { bytes } = this;
    const escaped = bytes[pos + 1];
    if (escaped === LOWER_U) {
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

  /** Scans a value of any type. */
  value(depth: number): void {
    const byte = this.peek();
    if (byte === QUOTE) this.string();
    else if (byte === BRACE) this.object(depth, undefined);
    else if (byte === BRACKET) this.array(depth, undefined);
    // The first bytes of `true`, `false` and `null`.
    else if (byte === 0x74) this.#literal('true');
    else if (byte === 0x66) this.#literal('false');
    else if (byte === 0x6e) this.#literal('null');
    else this.#number();
  }

  /**
   * Scans an object; `pos` must be at its brace. `onMember` scans the values instead: it is called with `pos`
   * at the first byte of the value, and must move `pos` to the byte after the value. `keyStart` is the start
   * of the member.
   */
  object(depth: number, onMember: ((key: string, keyStart: number) => void) | undefined): void {
    if (depth > MAX_DEPTH) this.#failAtDepth();
    this.pos += 1;
    if (this.take(END_BRACE)) return;
    do {
      this.peek();
      const start = this.pos;
      this.string();
      const stop = this.pos;
      if (!this.take(COLON)) this.fail('expected a colon');
      if (onMember === undefined) this.value(depth + 1);
      else {
        this.peek();
        onMember(textOf(this.bytes, start, stop), start);
      }
    } while (this.take(COMMA));
    if (!this.take(END_BRACE)) this.fail('expected a comma or a brace');
  }

  /** Scans an array; `pos` must be at its bracket. `onItem` works like `onMember`. */
  array(depth: number, onItem: (() => void) | undefined): void {
    if (depth > MAX_DEPTH) this.#failAtDepth();
    this.pos += 1;
    if (this.take(END_BRACKET)) return;
    do {
      if (onItem === undefined) this.value(depth + 1);
      else {
        this.peek();
        onItem();
      }
    } while (this.take(COMMA));
    if (!this.take(END_BRACKET)) this.fail('expected a comma or a bracket');
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
    if (bytes[pos] === DASH) pos += 1;
    const first = pos;
    while (isDigit(bytes[pos])) pos += 1;
    if (pos === first || (bytes[first] === DIGIT_0 && pos > first + 1)) this.fail('expected a value');
    if (bytes[pos] === DOT) {
      const fraction = ++pos;
      while (isDigit(bytes[pos])) pos += 1;
      if (pos === fraction) this.fail('bad number');
    }
    if (bytes[pos] === LOWER_E || bytes[pos] === UPPER_E) {
      pos += 1;
      if (bytes[pos] === PLUS || bytes[pos] === DASH) pos += 1;
      const exponent = pos;
      while (isDigit(bytes[pos])) pos += 1;
      if (pos === exponent) this.fail('bad number');
    }
    this.pos = pos;
  }
}

/** Returns true if four string bytes contain no quote, backslash or control character. */
export function isPlain(word: number): boolean {
  // In `quotes` control characters and quotes are bytes below 0x21, in `slashes` backslashes are zero bytes.
  // Both are detected by the borrow of a subtraction. A borrow into the next byte can cause a false positive,
  // but hides no match.
  const quotes = word ^ 0x02020202;
  const slashes = word ^ 0x5c5c5c5c;
  const matches = ((quotes - 0x21212121) & ~quotes) | ((slashes - 0x01010101) & ~slashes);
  return (matches & 0x80808080) === 0;
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= DIGIT_0 && byte <= DIGIT_9;
}

export function isHex(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  // The ranges are A to F and a to f.
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

/** Common strings in messages, by length. They are compared as bytes, so no new string is created. */
const commonStrings = byLength([
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
  ...['content', 'isError', 'resultType', 'io.modelcontextprotocol/serverInfo'],
]);

function byLength(all: readonly string[]): readonly (readonly string[])[] {
  // 48 is more than the longest word has.
  return Array.from({ length: 48 }, (_, length) => all.filter((word) => word.length === length));
}

function isAt(bytes: Buffer, start: number, word: string): boolean {
  for (let i = 0; i < word.length; i += 1) if (bytes[start + i] !== word.charCodeAt(i)) return false;
  return true;
}

/** Returns the text of the JSON string at `start…end`, which includes the quotes. Escapes are resolved. */
export function textOf(bytes: Buffer, start: number, end: number): string {
  for (const word of commonStrings[end - start - 2] ?? []) if (isAt(bytes, start + 1, word)) return word;
  const raw = bytes.toString('utf8', start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}
