// Checks JSON text that arrives piece by piece, and tells where the members of its outermost object stand. It accepts
// exactly what JsonScanner accepts. That one is for a message that is there as a whole; this one is for large ones, which
// then need not be put together, and are checked while they arrive. What is nested too deeply is not accepted either, but
// passed over, so that the id of such a message is found wherever it stands.
//
// What it holds does not grow with the text: the nesting, and the first bytes of one outermost name or value.

import { isDigit, isEscape, isHex, isPlain, LONG_STRING, MAX_DEPTH } from './json-scanner.ts';
import {
  behind,
  FRACTION,
  isWholeNumber,
  MINUS,
  NO_NUMBER,
  NUMBER_OVER,
  numberFrom,
  WHOLE,
} from './number-state.ts';
import type { Span } from './span.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;
const END_OF_OBJECT = 0x7d;
const BRACKET = 0x5b;
const END_OF_ARRAY = 0x5d;
const NOTHING = -1;

// What may come next. From STRING on it is inside a token, from MINUS on inside a number.
const WRONG = NO_NUMBER;
const VALUE = 0;
const FIRST_ITEM = 1;
const FIRST_NAME = 2;
const NAME = 3;
const COLON = 4;
const AFTER_VALUE = 5;
/** Somewhere in what is nested too deeply: only brackets are counted there. */
const TOO_DEEP = 6;
const STRING = 7;
const ESCAPE = 8;
const HEX = 9;
const WORD = 10;

/** So much of an outermost name or value is told. */
export const MAX_TOKEN = 256;

/**
 * A member of the outermost object: its name as raw JSON, and where its value stands, counted from the beginning of the
 * text. `raw` is the value itself, or '' for an object or array. Both are Latin-1, and cut off at MAX_TOKEN bytes.
 */
type OnMember = (rawName: string, value: Span, raw: string) => void;

export class PushScanner {
  /** Bytes seen so far. */
  size = 0;
  /** Where the first line break between tokens stands. */
  firstLineBreak: number | undefined;
  readonly #onMember: OnMember;
  #state = VALUE;
  /** What ends the innermost object or array, and those around it. */
  #closing = NOTHING;
  readonly #outer: number[] = [];
  #isName = false;
  /** Levels beyond MAX_DEPTH that are open. */
  #excess = 0;
  #wasTooDeep = false;
  /** Digits of a unicode escape still to come. */
  #hexLeft = 0;
  /** The literal at hand, and how much of it was there. */
  #word = '';
  #wordAt = 0;
  /** The name of the outermost member at hand, and where its value begins. */
  #name = '';
  #valueStart = 0;
  /** An outermost name or value, as far as it was there; in the piece at hand it goes on at `#tokenFrom`, -1 for none. */
  #token = '';
  #tokenFrom = -1;

  constructor(onMember: OnMember) {
    this.#onMember = onMember;
  }

  /** What was fed is one JSON text from beginning to end. */
  get isComplete(): boolean {
    if (this.#closing !== NOTHING || this.#wasTooDeep) return false;
    return this.#state === AFTER_VALUE || isWholeNumber(this.#state);
  }

  feed(piece: Buffer): void {
    let pos = this.#inToken(piece, 0);
    while (pos < piece.length && this.#state !== WRONG) {
      const byte = piece[pos] as number;
      pos += 1;
      if (byte > 0x20) {
        this.#state = this.#take(byte, pos - 1);
        pos = this.#inToken(piece, pos);
      } else if (byte === 0x0a || byte === 0x0d) this.firstLineBreak ??= this.size + pos - 1;
      else if (byte !== 0x20 && byte !== 0x09) this.#state = WRONG;
    }
    if (this.#tokenFrom >= 0) {
      this.#keep(piece, piece.length);
      this.#tokenFrom = 0;
    }
    this.size += piece.length;
  }

  /** What may come behind a byte that is no white space, between tokens. */
  #take(byte: number, pos: number): number {
    switch (this.#state) {
      case FIRST_NAME:
        return byte === this.#closing ? this.#close(pos) : this.#beginName(byte, pos);
      case NAME:
        return this.#beginName(byte, pos);
      case COLON:
        return byte === 0x3a ? VALUE : WRONG;
      case AFTER_VALUE:
        if (byte === this.#closing) return this.#close(pos);
        if (byte !== 0x2c || this.#closing === NOTHING) return WRONG;
        return this.#closing === END_OF_OBJECT ? NAME : VALUE;
      case FIRST_ITEM:
        return byte === this.#closing ? this.#close(pos) : this.#beginValue(byte, pos);
      case TOO_DEEP:
        return this.#passOver(byte);
      default:
        return this.#beginValue(byte, pos);
    }
  }

  #beginName(byte: number, pos: number): number {
    this.#isName = true;
    if (this.#outer.length === 1) this.#tokenFrom = pos;
    return byte === QUOTE ? STRING : WRONG;
  }

  #beginValue(byte: number, pos: number): number {
    if (this.#outer.length === 1) this.#valueStart = this.size + pos;
    if (byte === BRACE || byte === BRACKET) {
      if (this.#outer.length > MAX_DEPTH) return this.#passOver(byte);
      this.#outer.push(this.#closing);
      this.#closing = byte === BRACE ? END_OF_OBJECT : END_OF_ARRAY;
      return byte === BRACE ? FIRST_NAME : FIRST_ITEM;
    }
    this.#isName = false;
    if (this.#outer.length === 1) this.#tokenFrom = pos;
    if (byte === QUOTE) return STRING;
    const word = wordFrom(byte);
    if (word === undefined) return numberFrom(byte);
    this.#word = word;
    this.#wordAt = 1;
    return WORD;
  }

  #passOver(byte: number): number {
    this.#wasTooDeep = true;
    this.#isName = false;
    if (byte === QUOTE) return STRING;
    if (byte === BRACE || byte === BRACKET) this.#excess += 1;
    else if (byte === END_OF_OBJECT || byte === END_OF_ARRAY) this.#excess -= 1;
    return this.#excess > 0 ? TOO_DEEP : AFTER_VALUE;
  }

  /** The object or array that was opened last ends at `pos`. */
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

  #keep(piece: Buffer, end: number): void {
    const from = this.#tokenFrom;
    const wanted = Math.min(end, from + MAX_TOKEN - this.#token.length);
    if (wanted > from) this.#token += piece.toString('latin1', from, wanted);
  }

  /** A name, or a value that is no object or array, ends before `end`. */
  #endToken(piece: Buffer, end: number): void {
    if (this.#excess > 0) {
      this.#state = TOO_DEEP;
      return;
    }
    const isOutermost = this.#tokenFrom >= 0;
    if (isOutermost) this.#keep(piece, end);
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

  /** Over the token at hand, or what of it is in this piece; nowhere if there is none. */
  #inToken(piece: Buffer, from: number): number {
    let pos = from;
    while (this.#state >= STRING && pos < piece.length) {
      if (this.#state === STRING) pos = this.#inString(piece, pos);
      else if (this.#state >= MINUS) pos = this.#inNumber(piece, pos);
      else if (this.#state === WORD) pos = this.#inWord(piece, pos);
      else pos = this.#inEscape(piece, pos);
    }
    return pos;
  }

  #inString(piece: Buffer, from: number): number {
    const stop = Math.min(from + LONG_STRING, piece.length);
    let pos = from;
    while (pos < stop) {
      const byte = piece[pos] as number;
      if (byte === QUOTE) {
        this.#endToken(piece, pos + 1);
        return pos + 1;
      }
      if (byte === BACKSLASH || byte < 0x20) {
        pos = this.#afterOdd(piece, pos);
        if (this.#state !== STRING) return pos;
      } else pos += 1;
    }
    return pos < piece.length ? this.#inLongString(piece, pos) : pos;
  }

  /** As `#inString`, four bytes at a time over plain text: a large message is little else. */
  #inLongString(piece: Buffer, from: number): number {
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
      if (byte === BACKSLASH || byte < 0x20) {
        pos = this.#afterOdd(piece, pos);
        if (this.#state !== STRING) return pos;
      } else pos += 1;
      if (((pos - lead) & 3) !== 0) continue;
      let at = (pos - lead) >> 2;
      while (at < count && isPlain(quads[at] ?? 0)) at += 1;
      pos = lead + at * 4;
    }
    return pos;
  }

  /** Behind a backslash and its escape if all of that is here; what is cut or wrong changes the state. */
  #afterOdd(piece: Buffer, pos: number): number {
    const escaped = piece[pos + 1] ?? 0;
    if (piece[pos] !== BACKSLASH) this.#state = WRONG;
    else if (isEscape[escaped] === 1) return pos + 2;
    else if (escaped === 0x75 && isFourHex(piece, pos + 2)) return pos + 6;
    else this.#state = ESCAPE;
    return pos + 1;
  }

  #inEscape(piece: Buffer, pos: number): number {
    const byte = piece[pos] as number;
    if (this.#state === ESCAPE) {
      this.#hexLeft = 4;
      if (byte === 0x75) this.#state = HEX;
      else this.#state = isEscape[byte] === 1 ? STRING : WRONG;
    } else {
      this.#hexLeft -= 1;
      if (!isHex(byte)) this.#state = WRONG;
      else if (this.#hexLeft === 0) this.#state = STRING;
    }
    return pos + 1;
  }

  #inWord(piece: Buffer, from: number): number {
    const word = this.#word;
    let at = this.#wordAt;
    let pos = from;
    while (pos < piece.length && at < word.length && piece[pos] === word.charCodeAt(at)) {
      at += 1;
      pos += 1;
    }
    this.#wordAt = at;
    if (at === word.length) this.#endToken(piece, pos);
    else if (pos < piece.length) this.#state = WRONG;
    return pos;
  }

  #inNumber(piece: Buffer, from: number): number {
    let state = this.#state;
    for (let pos = from; pos < piece.length; pos += 1) {
      const next = behind(state, piece[pos] as number);
      if (next === NUMBER_OVER) {
        this.#endToken(piece, pos);
        return pos;
      }
      state = next;
      if (state === WRONG) break;
      // Most of a number are digits that change nothing.
      if (state === WHOLE || state === FRACTION) while (isDigit(piece[pos + 1])) pos += 1;
    }
    this.#state = state;
    return piece.length;
  }
}

function isFourHex(piece: Buffer, at: number): boolean {
  return isHex(piece[at]) && isHex(piece[at + 1]) && isHex(piece[at + 2]) && isHex(piece[at + 3]);
}

/** The literal that begins with this byte. */
function wordFrom(byte: number): string | undefined {
  if (byte === 0x74) return 'true';
  if (byte === 0x66) return 'false';
  return byte === 0x6e ? 'null' : undefined;
}
