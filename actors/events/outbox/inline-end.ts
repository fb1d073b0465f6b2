// Finds the point at which a long line is split: between words if possible, outside links, styled words, code
// and other inline constructs, and never within a grapheme, such as an emoji of several characters.

/** Inline constructs of Markdown and of the chats' dialects. The lengths bound the time of a search. */
const CONSTRUCT =
  /`[^`\n]{1,1000}`|!?\[[^\][\n]{0,500}\]\([^()\s]{1,2000}\)|<[^<>\n]{1,2000}>|(\*{1,3}|_{1,3}|~{1,2}|\|\|)(?=\S)[^\n]{0,500}?\S\1|\\./g;
/** Longer than every construct. */
const MAX_CONSTRUCT = 2_600;
/** Length of the searched text before `least`. It limits the time for very long lines. */
const SEARCHED_BEFORE = 4 * MAX_CONSTRUCT;
/** Longer than usual graphemes. */
const MAX_GRAPHEME = 64;

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

export interface LongLine {
  readonly text: string;
  /** Beginning of the line in the text. */
  readonly from: number;
  /** Last point that fits. */
  readonly fitting: number;
  /** Points between words before this one leave too much of the part empty. */
  readonly least: number;
  readonly isCode: boolean;
}

/** Returns the split point. It is `from` if the line begins with a construct that does not fit. */
export function inlineEnd({ text, from, fitting, least, isCode }: LongLine): number {
  const start = Math.max(from, least - SEARCHED_BEFORE);
  const constructs = isCode ? [] : constructsIn(text.slice(start, fitting + MAX_CONSTRUCT), start, least);
  const isInside = (at: number) => constructs.some(([begin, end]) => begin < at && at < end);
  for (let end = fitting; end > least; end -= 1)
    if ((isBlank(text, end) || isBlank(text, end - 1)) && !isInside(end)) return end;
  const construct = constructs.find(([begin, end]) => begin < fitting && fitting < end);
  if (construct !== undefined) return construct[0];
  return graphemeBegin(text, from, fitting);
}

/** Returns the last point between words, also within constructs; else a point between graphemes. */
export function wordEnd({ text, from, fitting, least }: LongLine): number {
  for (let end = fitting; end > least; end -= 1) if (isBlank(text, end) || isBlank(text, end - 1)) return end;
  return graphemeBegin(text, from, fitting);
}

type Range = readonly [begin: number, end: number];

/** Returns the constructs that end after `least`. The piece of the line starts at `start`. */
function constructsIn(piece: string, start: number, least: number): readonly Range[] {
  const found: Range[] = [];
  for (const { 0: construct, index } of piece.matchAll(CONSTRUCT)) {
    const begin = start + index;
    const end = begin + construct.length;
    if (end > least) found.push([begin, end]);
  }
  return found;
}

/** Returns the beginning of the grapheme at the point; the point itself if the grapheme is unusually long. */
function graphemeBegin(text: string, from: number, at: number): number {
  const begin = Math.max(from, at - MAX_GRAPHEME);
  const window = text.slice(begin, at + MAX_GRAPHEME);
  const index = graphemes.segment(window).containing(at - begin)?.index ?? 0;
  return index === 0 ? at : begin + index;
}

function isBlank(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x20 || code === 0x09;
}
