// How large a text is in the unit in which a platform counts, and how much of it fits.

/** UTF-16 code units, as `length` counts them, or bytes of UTF-8. */
export type TextUnit = 'utf16' | 'utf8';

export function sizeOf(text: string, unit: TextUnit): number {
  return unit === 'utf16' ? text.length : Buffer.byteLength(text);
}

/** The longest beginning of `text.slice(from, to)` that is no larger than `room`, as an offset; no pair of surrogates is cut. */
export function fittingEnd(text: string, from: number, to: number, room: number, unit: TextUnit): number {
  if (unit === 'utf16') return wholeBefore(text, from, Math.min(to, from + room));
  let end = from;
  for (let left = room; end < to; ) {
    const point = text.codePointAt(end) ?? 0;
    left -= point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (left < 0) break;
    end += point < 0x10000 ? 1 : 2;
  }
  return Math.min(end, to);
}

function wholeBefore(text: string, from: number, end: number): number {
  const isCut = end > from && end < text.length && isHigh(text, end - 1) && isLow(text, end);
  return isCut ? end - 1 : end;
}

const isHigh = (text: string, at: number) => (text.charCodeAt(at) & 0xfc00) === 0xd800;
const isLow = (text: string, at: number) => (text.charCodeAt(at) & 0xfc00) === 0xdc00;
