// Incremental JSON scanner: checks text that arrives in pieces, and reports the members of the outermost
// object. Accepts the same texts as JsonScanner, without joining the pieces. Too deep nesting is invalid, but
// the scan continues, to find the id at any position. Memory does not grow with the text: only the nesting
// and the start of one outermost name or value are stored.

import { isDigit, isEscape, isHex, isPlain, LONG_STRING, MAX_DEPTH } from './json-scanner.ts';
import {
  FRACTION,
  firstNumberState,
  isWholeNumber,
  MINUS,
  NO_NUMBER,
  NUMBER_ENDS,
  nextNumberState,
  WHOLE,
} from './number-state.ts';
import type { Span } from './span.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;
const END_OF_OBJECT = 0x7d;
const BRACKET = 0x5b;
const END_OF_ARRAY = 0x5d;
const SPACE = 0x20;
const LF = 0x0a;
const CR = 0x0d;
const TAB = 0x09;
const COMMA = 0x2c;
const LOWER_U = 0x75;
const NOTHING = -1;

// States of the scanner. From STRING on the position is inside a token, from MINUS on inside a number.
const INVALID = NO_NUMBER;
const VALUE = 0;
const FIRST_ITEM = 1;
const FIRST_NAME = 2;
const NAME = 3;
const COLON = 4;
const AFTER_VALUE = 5;
/** Nesting is too deep; only brackets are counted. */
const TOO_DEEP = 6;
const STRING = 7;
const ESCAPE = 8;
const HEX = 9;
const LITERAL = 10;

/** Maximum size of reported names and values, in bytes. */
export const MAX_TOKEN = 256;

/**
 * Receives a member of the outermost object: its name as raw JSON, and the position of the value in the whole
 * text. `raw` is the value, '' for objects and arrays. Both are Latin-1, cut at MAX_TOKEN bytes.
 */
type OnMember = (rawName: string, value: Span, raw: string) => void;

export class PushScanner {
  /** Number of bytes received. */
  size = 0;
  /** Position of the first line break between tokens. */
  firstLineBreak: number | undefined;
  readonly #onMember: OnMember;
  #state = VALUE;
  /** Closing byte of the innermost object or array, and closing bytes of the outer ones. */
  #closing = NOTHING;
  readonly #outer: number[] = [];
  #isName = false;
  /** Number of open levels beyond MAX_DEPTH. */
  #excess = 0;
  #wasTooDeep = false;
  /** Number of digits of the unicode escape that are still missing. */
  #remainingHex = 0;
  /** The current literal and the number of bytes already read. */
  #literal = '';
  #literalAt = 0;
  /** Name of the current outermost member, and the start of the value. */
  #name = '';
  #valueStart = 0;
  /**
   * The outermost name or value, as far as it was stored. It continues in the current piece at `#tokenFrom`;
   * -1 if no token is open.
   */
  #token = '';
  #tokenFrom = -1;

  constructor(onMember: OnMember) {
    this.#onMember = onMember;
  }

  /** True if the input is one complete, valid JSON text. */
  get isComplete(): boolean {
    if (this.#closing !== NOTHING || this.#wasTooDeep) return false;
    return this.#state === AFTER_VALUE || isWholeNumber(this.#state);
  }

  feed(piece: Buffer): void {
    let pos = this.#scanToken(piece, 0);
    while (pos < piece.length && this.#state !== INVALID) {
      const byte = piece[pos] as number;
      pos += 1;
      if (byte > SPACE) {
        this.#state = this.#take(byte, pos - 1);
        pos = this.#scanToken(piece, pos);
      } else if (byte === LF || byte === CR) this.firstLineBreak ??= this.size + pos - 1;
      else if (byte !== SPACE && byte !== TAB) this.#state = INVALID;
    }
    if (this.#tokenFrom >= 0) {
      this.#storeToken(piece, piece.length);
      this.#tokenFrom = 0;
    }
    this.size += piece.length;
  }

  /** Returns the state after a byte between tokens that is not white space. */
  #take(byte: number, pos: number): number {
    switch (this.#state) {
      case FIRST_NAME:
        return byte === this.#closing ? this.#close(pos) : this.#beginName(byte, pos);
      case NAME:
        return this.#beginName(byte, pos);
      // 0x3a is the colon.
      case COLON:
        return byte === 0x3a ? VALUE : INVALID;
      case AFTER_VALUE:
        if (byte === this.#closing) return this.#close(pos);
        if (byte !== COMMA || this.#closing === NOTHING) return INVALID;
        return this.#closing === END_OF_OBJECT ? NAME : VALUE;
      case FIRST_ITEM:
        return byte === this.#closing ? this.#close(pos) : this.#beginValue(byte, pos);
      case TOO_DEEP:
        return this.#skipDeepByte(byte);
      default:
        return this.#beginValue(byte, pos);
    }
  }

  #beginName(byte: number, pos: number): number {
    this.#isName = true;
    if (this.#outer.length === 1) this.#tokenFrom = pos;
    return byte === QUOTE ? STRING : INVALID;
  }

  #beginValue(byte: number, pos: number): number {
    if (this.#outer.length === 1) this.#valueStart = this.size + pos;
    if (byte === BRACE || byte === BRACKET) {
      if (this.#outer.length > MAX_DEPTH) return this.#skipDeepByte(byte);
      this.#outer.push(this.#closing);
      this.#closing = byte === BRACE ? END_OF_OBJECT : END_OF_ARRAY;
      return byte === BRACE ? FIRST_NAME : FIRST_ITEM;
    }
    this.#isName = false;
    if (this.#outer.length === 1) this.#tokenFrom = pos;
    if (byte === QUOTE) return STRING;
    const literal = literalFrom(byte);
    if (literal === undefined) return firstNumberState(byte);
    this.#literal = literal;
    this.#literalAt = 1;
    return LITERAL;
  }

  #skipDeepByte(byte: number): number {
    this.#wasTooDeep = true;
    this.#isName = false;
    if (byte === QUOTE) return STRING;
    if (byte === BRACE || byte === BRACKET) this.#excess += 1;
    else if (byte === END_OF_OBJECT || byte === END_OF_ARRAY) this.#excess -= 1;
    return this.#excess > 0 ? TOO_DEEP : AFTER_VALUE;
  }

  /** Closes the innermost object or array at `pos`. */
  #close(pos: number): number {
    this.#closing = this.#outer.pop() ?? NOTHING;
    return this.#endValue(pos + 1);
  }

  #endValue(end: number): number {
    if (this.#outer.length === 1 && this.#closing === END_OF_OBJECT) {
      this.#onMember(this.#name, { start: this.#valueStart, end: this.size + end }, this.#token);
      this.#token = '';
    }
    return AFTER_VALUE;
  }

  #storeToken(piece: Buffer, end: number): void {
    const from = this.#tokenFrom;
    const stop = Math.min(end, from + MAX_TOKEN - this.#token.length);
    if (stop > from) this.#token += piece.toString('latin1', from, stop);
  }

  /** Completes a name or scalar value that ends before `end`. */
  #endToken(piece: Buffer, end: number): void {
    if (this.#excess > 0) {
      this.#state = TOO_DEEP;
      return;
    }
    const isOutermost = this.#tokenFrom >= 0;
    if (isOutermost) this.#storeToken(piece, end);
    this.#tokenFrom = -1;
    if (!this.#isName) {
      this.#state = this.#endValue(end);
      return;
    }
    if (isOutermost) {
      this.#name = this.#token;
      this.#token = '';
    }
    this.#state = COLON;
  }

  /** Scans the current token. Returns the next position, or `from` if no token is open. */
  #scanToken(piece: Buffer, from: number): number {
    let pos = from;
    while (this.#state >= STRING && pos < piece.length) {
      if (this.#state === STRING) pos = this.#scanString(piece, pos);
      else if (this.#state >= MINUS) pos = this.#scanNumber(piece, pos);
      else if (this.#state === LITERAL) pos = this.#scanLiteral(piece, pos);
      else pos = this.#scanEscape(piece, pos);
    }
    return pos;
  }

  #scanString(piece: Buffer, from: number): number {
    const stop = Math.min(from + LONG_STRING, piece.length);
    let pos = from;
    while (pos < stop) {
      const byte = piece[pos] as number;
      if (byte === QUOTE) {
        this.#endToken(piece, pos + 1);
        return pos + 1;
      }
      if (byte === BACKSLASH || byte < SPACE) {
        pos = this.#afterSpecial(piece, pos);
        if (this.#state !== STRING) return pos;
      } else pos += 1;
    }
    return pos < piece.length ? this.#scanLongString(piece, pos) : pos;
  }

  /** Like `#scanString`, four bytes at a time, because large messages consist mainly of plain text. */
  #scanLongString(piece: Buffer, from: number): number {
    // Bytes before the first aligned word. `& 3`, `>> 2` and `* 4` convert between bytes and words.
    const lead = -piece.byteOffset & 3;
    const quads = new Int32Array(piece.buffer, piece.byteOffset + lead, (piece.length - lead) >> 2);
    const count = quads.length;
    let pos = from;
    while (pos < piece.length) {
      const byte = piece[pos] as number;
      if (byte === QUOTE) {
        this.#endToken(piece, pos + 1);
        return pos + 1;
      }
      if (byte === BACKSLASH || byte < SPACE) {
        pos = this.#afterSpecial(piece, pos);
        if (this.#state !== STRING) return pos;
      } else pos += 1;
      if (((pos - lead) & 3) !== 0) continue;
      let at = (pos - lead) >> 2;
      while (at < count && isPlain(quads[at] ?? 0)) at += 1;
      pos = lead + at * 4;
    }
    return pos;
  }

  /** Returns the position after a complete escape. For an incomplete or invalid one sets the state. */
  #afterSpecial(piece: Buffer, pos: number): number {
    const afterBackslash = piece[pos + 1] ?? 0;
    if (piece[pos] !== BACKSLASH) this.#state = INVALID;
    else if (isEscape[afterBackslash] === 1) return pos + 2;
    else if (afterBackslash === LOWER_U && isFourHex(piece, pos + 2)) return pos + 6;
    else this.#state = ESCAPE;
    return pos + 1;
  }

  #scanEscape(piece: Buffer, pos: number): number {
    const byte = piece[pos] as number;
    if (this.#state === ESCAPE) {
      this.#remainingHex = 4;
      if (byte === LOWER_U) this.#state = HEX;
      else this.#state = isEscape[byte] === 1 ? STRING : INVALID;
    } else {
      this.#remainingHex -= 1;
      if (!isHex(byte)) this.#state = INVALID;
      else if (this.#remainingHex === 0) this.#state = STRING;
    }
    return pos + 1;
  }

  #scanLiteral(piece: Buffer, from: number): number {
    const literal = this.#literal;
    let at = this.#literalAt;
    let pos = from;
    while (pos < piece.length && at < literal.length && piece[pos] === literal.charCodeAt(at)) {
      at += 1;
      pos += 1;
    }
    this.#literalAt = at;
    if (at === literal.length) this.#endToken(piece, pos);
    else if (pos < piece.length) this.#state = INVALID;
    return pos;
  }

  #scanNumber(piece: Buffer, from: number): number {
    let state = this.#state;
    for (let pos = from; pos < piece.length; pos += 1) {
      const next = nextNumberState(state, piece[pos] as number);
      if (next === NUMBER_ENDS) {
        this.#endToken(piece, pos);
        return pos;
      }
      state = next;
      if (state === INVALID) break;
      // Digits rarely change the state.
      if (state === WHOLE || state === FRACTION) while (isDigit(piece[pos + 1])) pos += 1;
    }
    this.#state = state;
    return piece.length;
  }
}

function isFourHex(piece: Buffer, at: number): boolean {
  return isHex(piece[at]) && isHex(piece[at + 1]) && isHex(piece[at + 2]) && isHex(piece[at + 3]);
}

/** Returns the literal that starts with this byte (`t`, `f` or `n`). */
function literalFrom(byte: number): string | undefined {
  if (byte === 0x74) return 'true';
  if (byte === 0x66) return 'false';
  return byte === 0x6e ? 'null' : undefined;
}
