// How large a text is in the unit in which a platform counts, and how much of it fits.

/**
 * UTF-16 code units, as `length` counts them; bytes of UTF-8; bytes of what is sent as text in JSON, where line ends and quotation
 * marks take two and control characters up to six; or UTF-16 code units of what is sent where `&`, `<` and `>` leave as entities.
 */
export type TextUnit = 'utf16' | 'utf8' | 'json' | 'entities';

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

/** Of `&amp;`, `&lt;` and `&gt;`. */
function unitsAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === 0x26) return 5;
  return code === 0x3c || code === 0x3e ? 4 : 1;
}

/** The longest beginning of `text.slice(from, to)` that is no larger than `room`, as an offset; no pair of surrogates is cut. */
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

/** As `JSON.stringify` writes it: what has no short form, and half of a character, as `\uXXXX`. */
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
