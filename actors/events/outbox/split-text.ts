// Measures texts in platform units, and splits texts that exceed one message. The number of messages is bounded: thousands would
// fill a chat for an hour and exceed the account's daily limit. The last line names the omitted length.
//
// ST1  no part is larger than the limit, in the unit in which the platform counts; the first leaves room for a mark.
// ST2  each part closes the block of code that it leaves open, and the next opens it again with the same first line.
// ST3  nothing is lost but blanks at a cut; in a block of code nothing but the line's end there. No pair of surrogates is cut.
// ST4  parts are filled: a cut falls between paragraphs, lines or words only near the end of what fits, else where it must.
// ST5  what fits into one part is given as it is.

import { type CodeFence, fenceAfter } from './code-fence.ts';
import { UnrenderableError } from './delivery-error.ts';
import type { OutboundMessage } from './outbound-message.ts';

/**
 * UTF-16 code units; bytes of UTF-8; bytes of a JSON string, in which line ends and quotation
 * marks take two bytes and control characters up to six; or UTF-16 code units with `&`, `<` and `>` as entities.
 */
export type TextUnit = 'utf16' | 'utf8' | 'json' | 'entities';

/** Returns the text size in the platform's unit. */
export function sizeOf(text: string, unit: TextUnit): number {
  if (unit === 'utf16') return text.length;
  if (unit === 'json') return Buffer.byteLength(JSON.stringify(text)) - 2;
  return unit === 'utf8' ? Buffer.byteLength(text) : text.length + entitiesMore(text);
}

function entitiesMore(text: string): number {
  if (!/[&<>]/.test(text)) return 0;
  let more = 0;
  for (let at = 0; at < text.length; at += 1) more += unitsAt(text, at) - 1;
  return more;
}

/** Lengths of `&amp;`, `&lt;` and `&gt;`. */
function unitsAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === 0x26) return 5;
  return code === 0x3c || code === 0x3e ? 4 : 1;
}

/** Returns the end of the longest prefix of `text.slice(from, to)` within `room`; surrogate pairs stay whole. */
export function fittingEnd(text: string, from: number, to: number, room: number, unit: TextUnit): number {
  if (unit === 'utf16') return wholeBefore(text, from, Math.min(to, from + room));
  if (unit === 'entities') return wholeBefore(text, from, entitiesEnd(text, from, to, room));
  let end = from;
  for (let left = room; end < to; ) {
    const point = text.codePointAt(end) ?? 0;
    left -= unit === 'json' ? jsonBytes(point) : utf8Bytes(point);
    if (left < 0) break;
    end += point < 0x10000 ? 1 : 2;
  }
  return Math.min(end, to);
}

const utf8Bytes = (point: number) => (point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4);

/** Returns the size in JSON, where control characters without a short form and lone surrogates are `\uXXXX`. */
function jsonBytes(point: number): number {
  if (point === 0x22 || point === 0x5c) return 2;
  if (point < 0x20) return (point >= 0x08 && point <= 0x0a) || point === 0x0c || point === 0x0d ? 2 : 6;
  return point >= 0xd800 && point <= 0xdfff ? 6 : utf8Bytes(point);
}

function entitiesEnd(text: string, from: number, to: number, room: number): number {
  let end = from;
  for (let left = room; end < to; end += 1) {
    left -= unitsAt(text, end);
    if (left < 0) break;
  }
  return end;
}

function wholeBefore(text: string, from: number, end: number): number {
  const isCut = end > from && end < text.length && isHigh(text, end - 1) && isLow(text, end);
  return isCut ? end - 1 : end;
}

const isHigh = (text: string, at: number) => (text.charCodeAt(at) & 0xfc00) === 0xd800;
const isLow = (text: string, at: number) => (text.charCodeAt(at) & 0xfc00) === 0xdc00;

/** Below the smallest daily limit of a platform (250 messages), and sendable before the reply deadline of all platforms. */
export const MAX_PARTS = 100;
/** Actions of a card that leave enough room for its text. */
const MAX_PARTS_OF_CARD = MAX_PARTS / 2;
/** Shortest prefix that is kept, in characters. */
const LEAST_KEPT = 64;
const CARD_LEFT_OUT = 'What belongs to this answer is too long to be shown here, and was left out.';

/** Renders the message, or the longest prefix within the limit. Throws UnrenderableError. */
export function boundedParts<Rendered>(
  message: OutboundMessage,
  render: (message: OutboundMessage) => readonly Rendered[],
): readonly Rendered[] {
  const whole = render(message);
  if (whole.length <= MAX_PARTS) return whole;
  const { text } = message;
  const { card, note } = fittingCard(message, render);
  for (let room = text.length; ; ) {
    const parts = render({ ...message, card, text: joined(beginningOf(text, room), note) });
    if (parts.length <= MAX_PARTS) return parts;
    room = Math.floor(room * Math.min(0.95, (MAX_PARTS - 1) / parts.length));
    if (room < LEAST_KEPT) break;
  }
  throw new UnrenderableError(`it would be ${whole.length} messages; at most ${MAX_PARTS} are sent`);
}

/** Replaces a card that would take most of the room by a note. */
function fittingCard(
  message: OutboundMessage,
  render: (message: OutboundMessage) => readonly unknown[],
): { readonly card: OutboundMessage['card']; readonly note: string } {
  const { card } = message;
  const fits = card === undefined || render({ ...message, text: '' }).length <= MAX_PARTS_OF_CARD;
  return fits ? { card, note: '' } : { card: undefined, note: CARD_LEFT_OUT };
}

/** Appends a line with the number of missing characters and closes an open code block before it. */
function beginningOf(text: string, room: number): string {
  if (room >= text.length) return text;
  const [kept = ''] = splitText(text.slice(0, 2 * room), { limit: room, unit: 'utf16' });
  return joined(kept, leftOut(text.length - kept.length));
}

const leftOut = (count: number) =>
  `This answer is too long to be sent here: about ${count.toLocaleString('en')} characters at its end were left out.`;

const joined = (...texts: readonly string[]) => texts.filter((text) => text !== '').join('\n\n');

export interface SplitOptions {
  /** Of one part. */
  readonly limit: number;
  readonly unit: TextUnit;
  /** Kept free in the first part, for what is put before it. @default 0 */
  readonly markRoom?: number;
}

/** Below this there is no room for a block of code. */
const LEAST_LIMIT = 64;
/** Between paragraphs it is cut in the last eighth of a part, between lines or words in the last quarter. */
const PARAGRAPH_SHARE = 7 / 8;
const LINE_SHARE = 3 / 4;

/** Where a part begins. */
interface Begin {
  readonly at: number;
  /** Open there. */
  readonly fence: CodeFence | undefined;
}

/** Throws RangeError for a limit that leaves no room for a block of code. */
export function splitText(text: string, { limit, unit, markRoom = 0 }: SplitOptions): readonly string[] {
  if (limit - markRoom < LEAST_LIMIT) throw new RangeError(`a part of ${limit} is too small for a text`);
  if (sizeOf(text, unit) <= limit - markRoom) return [text];
  const parts: string[] = [];
  let room = limit - markRoom;
  for (let begin: Begin | undefined = skipBlank(text, { at: 0, fence: undefined }); begin !== undefined; ) {
    const cut = new Part(text, begin, room, unit).end();
    parts.push(cut.part);
    begin = skipBlank(text, cut.next);
    room = limit;
  }
  return parts;
}

/** Blank lines at the beginning of a part say nothing; undefined at the end of the text. */
function skipBlank(text: string, begin: Begin): Begin | undefined {
  if (begin.fence !== undefined) return begin.at < text.length ? begin : undefined;
  const blank = /\s*/y;
  blank.lastIndex = begin.at;
  const skipped = blank.exec(text)?.[0] ?? '';
  const at = begin.at + skipped.length;
  if (at === text.length) return undefined;
  // The indentation of its first line stays.
  const line = skipped.lastIndexOf('\n');
  if (line !== -1) return { ...begin, at: begin.at + line + 1 };
  const isLineBegin = begin.at === 0 || text.charAt(begin.at - 1) === '\n';
  return isLineBegin ? begin : { ...begin, at };
}

interface Cut {
  readonly part: string;
  readonly next: Begin;
}

class Part {
  readonly #text: string;
  readonly #begin: Begin;
  readonly #room: number;
  readonly #unit: TextUnit;
  /** Opens again what was cut. */
  readonly #head: string;

  constructor(text: string, begin: Begin, room: number, unit: TextUnit) {
    this.#text = text;
    this.#begin = begin;
    this.#room = room;
    this.#unit = unit;
    this.#head = begin.fence === undefined ? '' : `${begin.fence.opening}\n`;
  }

  /** Takes as much as fits. */
  end(): Cut {
    const text = this.#text;
    const { at: begin } = this.#begin;
    let { fence } = this.#begin;
    let size = this.#sizeOf(this.#head);
    // The last ends of lines at which it may be cut.
    let line: Begin | undefined;
    let paragraph: Begin | undefined;
    for (let at = begin; ; ) {
      // Of a line that is longer no more is looked at than shows that.
      const found = text.slice(at, at + this.#room + 1).indexOf('\n');
      const end = found === -1 ? Math.min(text.length, at + this.#room + 1) : at + found;
      const before = fence;
      fence = this.#fenceAfter(text.slice(at, end), before);
      const lineSize = this.#sizeOf(text.slice(at, end));
      if (size + lineSize + this.#closingSize(fence) > this.#room)
        return this.#cutIn(at, end, size, before, line, paragraph);
      if (end === text.length) return this.#cutAt({ at: end, fence });
      size += lineSize + this.#sizeOf('\n');
      at = end + 1;
      // A block that has only been opened is better opened in the next part.
      const isNewBlock = before === undefined && fence !== undefined;
      if (!isNewBlock && size >= this.#room * LINE_SHARE) line = { at, fence };
      const isBlankNext = fence === undefined && (text.charAt(at) === '\n' || text.startsWith('\r\n', at));
      if (isBlankNext && size >= this.#room * PARAGRAPH_SHARE) paragraph = { at, fence };
    }
  }

  /** The line from `at` to `end` is the first that does not fit whole. */
  #cutIn(
    at: number,
    end: number,
    size: number,
    fence: CodeFence | undefined,
    line: Begin | undefined,
    paragraph: Begin | undefined,
  ): Cut {
    const best = paragraph ?? line;
    if (best !== undefined) return this.#cutAt(best);
    const left = this.#room - size - this.#closingSize(fence);
    const fitting = fittingEnd(this.#text, at, end, Math.max(0, left), this.#unit);
    const opens = fenceAfter(this.#text.slice(at, end), fence) !== fence;
    // The line of a fence stands whole, or in the next part.
    if ((opens || fitting === at) && at > this.#begin.at) return this.#cutAt({ at, fence });
    return this.#cutAt({ at: this.#wordEnd(at, fitting), fence });
  }

  /** Behind the last word that ends in the last quarter; else where the room ends. */
  #wordEnd(at: number, fitting: number): number {
    const least = Math.max(at, this.#begin.at + Math.ceil((fitting - this.#begin.at) * LINE_SHARE));
    for (let end = fitting; end > least; end -= 1) {
      if (isBlank(this.#text, end)) return end;
      if (isBlank(this.#text, end - 1)) return end;
    }
    return fitting;
  }

  #cutAt({ at, fence }: Begin): Cut {
    const text = this.#text.slice(this.#begin.at, at);
    const isWhole = at === this.#text.length;
    if (fence === undefined) {
      const part = this.#head + (isWhole ? text : text.trimEnd());
      return { part, next: { at, fence } };
    }
    // The line's end before the cut is that before the closing line.
    const body = text.endsWith('\n') ? text.slice(0, -1) : text;
    return { part: `${this.#head}${body}\n${fence.closing}`, next: { at, fence } };
  }

  #closingSize(fence: CodeFence | undefined): number {
    return fence === undefined ? 0 : this.#sizeOf(`\n${fence.closing}`);
  }

  /** A first line that would take much of each part is written once only; one of nothing but marks that would opens nothing. */
  #fenceAfter(line: string, before: CodeFence | undefined): CodeFence | undefined {
    const fence = fenceAfter(line, before);
    if (fence === undefined || fence === before) return fence;
    const { opening, closing } = fence;
    const most = this.#room / 4;
    if (this.#sizeOf(opening) <= most) return fence;
    return this.#sizeOf(closing) <= most ? { opening: closing, closing } : undefined;
  }

  #sizeOf(text: string): number {
    return sizeOf(text, this.#unit);
  }
}

function isBlank(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x20 || code === 0x09;
}
