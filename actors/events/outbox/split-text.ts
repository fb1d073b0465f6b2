// Measures text in the units of platforms, and splits text that exceeds the message limit. An answer has at
// most MAX_PARTS messages, since more would flood a chat and exceed daily limits; the rest is omitted, and
// the last line states its length.
//
// No part exceeds the limit. A part that ends in a code block closes it, and the next part reopens it. Text
// is split between paragraphs, lines or words if possible, but only near the end, so that parts are well
// filled. Links, styled words and graphemes stay whole (inline-end.ts). Blanks around split points are
// dropped; in code blocks only the line break.

import { type CodeFence, fenceAfter } from './code-fence.ts';
import { UnrenderableError } from './delivery-error.ts';
import { inlineEnd, wordEnd } from './inline-end.ts';
import type { OutboundMessage } from './message.ts';

/**
 * Unit of a platform's message limit. `utf16`: UTF-16 code units. `utf8`: UTF-8 bytes. `json`: bytes of the
 * text as a JSON string, where a quotation mark takes two bytes and a control character up to six.
 * `entities`: UTF-16 code units, with `&`, `<` and `>` written as entities.
 */
export type TextUnit = 'utf16' | 'utf8' | 'json' | 'entities';

export function sizeOf(text: string, unit: TextUnit): number {
  if (unit === 'utf16') return text.length;
  if (unit === 'json') return Buffer.byteLength(JSON.stringify(text)) - 2;
  return unit === 'utf8' ? Buffer.byteLength(text) : text.length + extraEntityUnits(text);
}

function extraEntityUnits(text: string): number {
  if (!/[&<>]/.test(text)) return 0;
  let more = 0;
  for (let at = 0; at < text.length; at += 1) more += unitsAt(text, at) - 1;
  return more;
}

/** Returns the code unit's length; `&`, `<` and `>` count as `&amp;`, `&lt;` and `&gt;`. */
function unitsAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === 0x26) return 5;
  return code === 0x3c || code === 0x3e ? 4 : 1;
}

/**
 * Returns the end of the longest prefix of `text.slice(from, to)` within `capacity`. Surrogate pairs stay
 * whole.
 */
export function fittingEnd(text: string, from: number, to: number, capacity: number, unit: TextUnit): number {
  if (unit === 'utf16') return wholeBefore(text, from, Math.min(to, from + capacity));
  if (unit === 'entities') return wholeBefore(text, from, entitiesEnd(text, from, to, capacity));
  let end = from;
  for (let remaining = capacity; end < to; ) {
    const point = text.codePointAt(end) ?? 0;
    remaining -= unit === 'json' ? jsonBytes(point) : utf8Bytes(point);
    if (remaining < 0) break;
    end += point < 0x10000 ? 1 : 2;
  }
  return Math.min(end, to);
}

function utf8Bytes(point: number): number {
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  return point < 0x10000 ? 3 : 4;
}

/** Returns the code point's size in JSON. Some control characters and lone surrogates become `\uXXXX`. */
function jsonBytes(point: number): number {
  if (point === 0x22 || point === 0x5c) return 2;
  if (point < 0x20) return (point >= 0x08 && point <= 0x0a) || point === 0x0c || point === 0x0d ? 2 : 6;
  return point >= 0xd800 && point <= 0xdfff ? 6 : utf8Bytes(point);
}

function entitiesEnd(text: string, from: number, to: number, capacity: number): number {
  let end = from;
  for (let remaining = capacity; end < to; end += 1) {
    remaining -= unitsAt(text, end);
    if (remaining < 0) break;
  }
  return end;
}

function wholeBefore(text: string, from: number, end: number): number {
  const splitsPair = end > from && end < text.length && isHigh(text, end - 1) && isLow(text, end);
  return splitsPair ? end - 1 : end;
}

const isHigh = (text: string, at: number) => (text.charCodeAt(at) & 0xfc00) === 0xd800;
const isLow = (text: string, at: number) => (text.charCodeAt(at) & 0xfc00) === 0xdc00;

/**
 * Maximum number of messages per answer: below the smallest daily limit of a platform (250), and sendable
 * before every reply deadline.
 */
export const MAX_PARTS = 100;
/** Maximum number of messages for the card without the text. */
const MAX_PARTS_OF_CARD = MAX_PARTS / 2;
/** Minimum length of truncated text, in UTF-16 units. */
const MIN_PREFIX = 64;
const CARD_LEFT_OUT = 'The fields and buttons of this answer are too long to send and were left out.';

/**
 * Renders the message; truncates the text if it would need more than MAX_PARTS messages. Throws
 * UnrenderableError.
 */
export function boundedParts<Rendered>(
  message: OutboundMessage,
  render: (message: OutboundMessage) => readonly Rendered[],
): readonly Rendered[] {
  const whole = render(message);
  if (whole.length <= MAX_PARTS) return whole;
  const { text } = message;
  const { card, note } = fittingCard(message, render);
  for (let capacity = text.length; ; ) {
    const parts = render({ ...message, card, text: joinParagraphs(truncate(text, capacity), note) });
    if (parts.length <= MAX_PARTS) return parts;
    capacity = Math.floor(capacity * Math.min(0.95, (MAX_PARTS - 1) / parts.length));
    if (capacity < MIN_PREFIX) break;
  }
  throw new UnrenderableError(`the answer would need ${whole.length} messages; the limit is ${MAX_PARTS}`);
}

/** Returns the card; or a note in its place, if the card alone would need most of the messages. */
function fittingCard(
  message: OutboundMessage,
  render: (message: OutboundMessage) => readonly unknown[],
): { readonly card: OutboundMessage['card']; readonly note: string } {
  const { card } = message;
  const fits = card === undefined || render({ ...message, text: '' }).length <= MAX_PARTS_OF_CARD;
  return fits ? { card, note: '' } : { card: undefined, note: CARD_LEFT_OUT };
}

/**
 * Truncates the text and appends a line with the number of omitted characters; closes an open code block
 * before it.
 */
function truncate(text: string, capacity: number): string {
  if (capacity >= text.length) return text;
  const [prefix = ''] = splitText(text.slice(0, 2 * capacity), { limit: capacity, unit: 'utf16' });
  return joinParagraphs(prefix, omissionNote(text.length - prefix.length));
}

const omissionNote = (count: number) =>
  `This answer is too long to send: about ${count.toLocaleString('en')} characters at its end were left out.`;

const joinParagraphs = (...texts: readonly string[]) => texts.filter((text) => text !== '').join('\n\n');

export interface SplitOptions {
  /** Maximum part size. */
  readonly limit: number;
  readonly unit: TextUnit;
  /** Size of the mark that the caller adds to the first part. @default 0 */
  readonly markSpace?: number;
}

/** Minimum part size in which a code block can be split. */
const MIN_LIMIT = 64;
/**
 * Text is split between paragraphs only in the last eighth of a part, between lines or words only in the last
 * quarter.
 */
const PARAGRAPH_SHARE = 7 / 8;
const LINE_SHARE = 3 / 4;

/** Start of a part. */
interface Begin {
  readonly at: number;
  /** Code block that is open at the start. */
  readonly fence: CodeFence | undefined;
}

/** Splits the text into parts. Throws RangeError if the limit is too small for a code block. */
export function splitText(text: string, { limit, unit, markSpace = 0 }: SplitOptions): readonly string[] {
  if (limit - markSpace < MIN_LIMIT)
    throw new RangeError(`the part size ${limit} is too small; the minimum is ${MIN_LIMIT}`);
  if (sizeOf(text, unit) <= limit - markSpace) return [text];
  const parts: string[] = [];
  let capacity = limit - markSpace;
  for (let begin: Begin | undefined = skipBlank(text, { at: 0, fence: undefined }); begin !== undefined; ) {
    const cut = new PartBuilder(text, begin, capacity, unit).end();
    parts.push(cut.part);
    begin = skipBlank(text, cut.next);
    capacity = limit;
  }
  return parts;
}

/** Skips blank lines at the part's start, outside code blocks; undefined if no text is left. */
function skipBlank(text: string, begin: Begin): Begin | undefined {
  if (begin.fence !== undefined) return begin.at < text.length ? begin : undefined;
  const blank = /\s*/y;
  blank.lastIndex = begin.at;
  const blanks = blank.exec(text)?.[0] ?? '';
  const at = begin.at + blanks.length;
  if (at === text.length) return undefined;
  // Keeps the indentation of the first line.
  const line = blanks.lastIndexOf('\n');
  if (line !== -1) return { ...begin, at: begin.at + line + 1 };
  const isLineBegin = begin.at === 0 || text.charAt(begin.at - 1) === '\n';
  return isLineBegin ? begin : { ...begin, at };
}

/** One part, and the start of the next part. */
interface SplitPoint {
  readonly part: string;
  readonly next: Begin;
}

/** Builds one part: the longest piece of the text that fits, from a given start. */
class PartBuilder {
  readonly #text: string;
  readonly #begin: Begin;
  readonly #capacity: number;
  readonly #unit: TextUnit;
  /** Opening line of the code block that was split, for the start of this part. */
  readonly #head: string;

  constructor(text: string, begin: Begin, capacity: number, unit: TextUnit) {
    this.#text = text;
    this.#begin = begin;
    this.#capacity = capacity;
    this.#unit = unit;
    this.#head = begin.fence === undefined ? '' : `${begin.fence.opening}\n`;
  }

  /** Returns the longest part that fits. */
  end(): SplitPoint {
    const text = this.#text;
    const { at: begin } = this.#begin;
    let { fence } = this.#begin;
    let size = this.#sizeOf(this.#head);
    // Best split points so far: after a line, and before a blank line.
    let line: Begin | undefined;
    let paragraph: Begin | undefined;
    for (let at = begin; ; ) {
      // Searches no further than a part can reach.
      const newline = text.slice(at, at + this.#capacity + 1).indexOf('\n');
      const end = newline === -1 ? Math.min(text.length, at + this.#capacity + 1) : at + newline;
      const before = fence;
      fence = this.#fenceAfter(text.slice(at, end), before);
      const lineSize = this.#sizeOf(text.slice(at, end));
      if (size + lineSize + this.#closingSize(fence) > this.#capacity)
        return this.#cutIn(at, end, size, before, line, paragraph);
      if (end === text.length) return this.#cutAt({ at: end, fence });
      size += lineSize + this.#sizeOf('\n');
      at = end + 1;
      // Never splits behind the opening line of a code block.
      const isNewBlock = before === undefined && fence !== undefined;
      if (!isNewBlock && size >= this.#capacity * LINE_SHARE) line = { at, fence };
      const isBlankNext = fence === undefined && (text.charAt(at) === '\n' || text.startsWith('\r\n', at));
      if (isBlankNext && size >= this.#capacity * PARAGRAPH_SHARE) paragraph = { at, fence };
    }
  }

  /** Splits in or before the line from `at` to `end`, which is the first that does not fit. */
  #cutIn(
    at: number,
    end: number,
    size: number,
    fence: CodeFence | undefined,
    line: Begin | undefined,
    paragraph: Begin | undefined,
  ): SplitPoint {
    const best = paragraph ?? line;
    if (best !== undefined) return this.#cutAt(best);
    const remaining = this.#capacity - size - this.#closingSize(fence);
    const fitting = fittingEnd(this.#text, at, end, Math.max(0, remaining), this.#unit);
    const opens = fenceAfter(this.#text.slice(at, end), fence) !== fence;
    // A fence line is never split.
    if ((opens || fitting === at) && at > this.#begin.at) return this.#cutAt({ at, fence });
    const first = this.#begin.at;
    const least = Math.max(at, first + Math.ceil((fitting - first) * LINE_SHARE));
    const longLine = { text: this.#text, from: at, fitting, least, isCode: fence !== undefined };
    const point = inlineEnd(longLine);
    // A construct that fills the whole part is split.
    return this.#cutAt({ at: point > first ? point : wordEnd(longLine), fence });
  }

  #cutAt({ at, fence }: Begin): SplitPoint {
    const text = this.#text.slice(this.#begin.at, at);
    const isWhole = at === this.#text.length;
    if (fence === undefined) {
      const part = this.#head + (isWhole ? text : text.trimEnd());
      return { part, next: { at, fence } };
    }
    // The line break at the split point becomes the line break before the closing line.
    const body = text.endsWith('\n') ? text.slice(0, -1) : text;
    return { part: `${this.#head}${body}\n${fence.closing}`, next: { at, fence } };
  }

  #closingSize(fence: CodeFence | undefined): number {
    return fence === undefined ? 0 : this.#sizeOf(`\n${fence.closing}`);
  }

  /**
   * Returns the open code block, if any, behind the line. A long opening line is reduced to its marks; if
   * even these are too long, the line opens no block.
   */
  #fenceAfter(line: string, before: CodeFence | undefined): CodeFence | undefined {
    const fence = fenceAfter(line, before);
    if (fence === undefined || fence === before) return fence;
    const { opening, closing } = fence;
    const most = this.#capacity / 4;
    if (this.#sizeOf(opening) <= most) return fence;
    return this.#sizeOf(closing) <= most ? { opening: closing, closing } : undefined;
  }

  #sizeOf(text: string): number {
    return sizeOf(text, this.#unit);
  }
}
