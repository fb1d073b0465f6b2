// Patterns of names, as `tools.allow` and `tools.deny` have them: `*` any characters, `?` one, `[a-z]` and `[!a-z]` one of
// a set or one outside it, `{a,b}` either; `\` before a sign takes it literally, and what has no other half stands for
// itself. Servers choose the names, and their length, so as a regular expression eight stars could stand still for hours.
//
// NP1  a match takes time proportional to pattern times name, whatever they are: it follows all ways at once, as the set
//      of places in the name that are reached, and never goes back.

type Part =
  | '*'
  | '?'
  | { readonly text: string }
  | { readonly choices: readonly (readonly Part[])[] }
  | SignSet;

interface SignSet {
  readonly isNegated: boolean;
  readonly ranges: readonly (readonly [low: number, high: number])[];
}

/** Places in a name, between its characters: those of `at`, in no order, and all from `from` on. */
interface Places {
  readonly at: readonly number[];
  readonly from: number;
}

const NOWHERE = Number.POSITIVE_INFINITY;
const start: Places = { at: [0], from: NOWHERE };

/** Whether a name, as a whole, is one the pattern stands for; upper and lower case differ. */
export function namePattern(pattern: string): (name: string) => boolean {
  const parts = partsOf(pattern);
  return (name) => {
    const { at, from } = follow(parts, name, start);
    return from <= name.length || at.includes(name.length);
  };
}

function follow(parts: readonly Part[], name: string, begin: Places): Places {
  let places = begin;
  for (const part of parts) {
    if (places.at.length === 0 && places.from > name.length) return places;
    places = afterPart(part, name, places);
  }
  return places;
}

function afterPart(part: Part, name: string, places: Places): Places {
  if (part === '*') return { at: [], from: places.at.reduce((a, b) => Math.min(a, b), places.from) };
  if (part !== '?' && 'choices' in part)
    return united(part.choices.map((each) => follow(each, name, places)));
  if (isText(part)) return afterText(part.text, name, places);
  return afterSign((code) => part === '?' || isIn(part, code), name, places);
}

function afterText(text: string, name: string, { at, from }: Places): Places {
  const next: number[] = [];
  for (const place of at) if (place < from && name.startsWith(text, place)) next.push(place + text.length);
  if (from === NOWHERE) return { at: next, from };
  for (let found = name.indexOf(text, from); found !== -1; found = name.indexOf(text, found + 1))
    next.push(found + text.length);
  return { at: next, from: NOWHERE };
}

function afterSign(fits: (code: number) => boolean, name: string, { at, from }: Places): Places {
  const next: number[] = [];
  const tryAt = (place: number) => {
    const code = name.codePointAt(place);
    if (code !== undefined && fits(code)) next.push(place + (code > 0xffff ? 2 : 1));
  };
  for (const place of at) if (place < from) tryAt(place);
  for (let place = from; place < name.length; place += 1) tryAt(place);
  return { at: next, from: NOWHERE };
}

/** Each place once: NP1 rests on that. */
function united(some: readonly Places[]): Places {
  return {
    at: [...new Set(some.flatMap(({ at }) => at))],
    from: some.reduce((least, { from }) => Math.min(least, from), NOWHERE),
  };
}

function isIn({ ranges, isNegated }: SignSet, code: number): boolean {
  return ranges.some(([low, high]) => low <= code && code <= high) !== isNegated;
}

function partsOf(pattern: string): readonly Part[] {
  const signs = Array.from(pattern);
  /** Choices so far: of the pattern itself, which has one only, and of each pair of braces that is open. */
  const open: Part[][][] = [[[]]];
  const add = (...parts: Part[]) =>
    open
      .at(-1)
      ?.at(-1)
      ?.push(...parts);
  for (let at = 0; at < signs.length; at += 1) {
    const sign = signs[at] ?? '';
    const set = sign === '[' ? setAt(signs, at) : undefined;
    if (sign === '*' || sign === '?') add(sign);
    else if (set !== undefined) {
      add(set.set);
      at = set.end;
    } else if (sign === '{') open.push([[]]);
    else if (sign === ',' && open.length > 1) open.at(-1)?.push([]);
    else if (sign === '}' && open.length > 1) {
      const choices = open.pop() ?? [];
      if (choices.length > 1) add({ choices: choices.map(joined) });
      else add({ text: '{' }, ...choices.flat(), { text: '}' });
    } else if (sign === '\\' && at + 1 < signs.length) {
      at += 1;
      add({ text: signs[at] ?? '' });
    } else add({ text: sign });
  }
  while (open.length > 1) {
    const choices = open.pop() ?? [];
    add(...choices.flatMap((choice, n) => [{ text: n === 0 ? '{' : ',' }, ...choice]));
  }
  return joined(open[0]?.[0] ?? []);
}

/** Text that was read sign by sign is looked for at once. */
function joined(parts: readonly Part[]): readonly Part[] {
  const fewer: Part[] = [];
  for (const part of parts) {
    const last = fewer.at(-1);
    if (isText(part) && last !== undefined && isText(last))
      fewer[fewer.length - 1] = { text: last.text + part.text };
    else if (part !== '*' || last !== '*') fewer.push(part);
  }
  return fewer;
}

function isText(part: Part): part is { readonly text: string } {
  return typeof part === 'object' && 'text' in part;
}

/** The set that begins at `begin`; undefined when it has no end. */
function setAt(signs: readonly string[], begin: number): { set: SignSet; end: number } | undefined {
  let at = begin + 1;
  const isNegated = signs[at] === '!' || signs[at] === '^';
  if (isNegated) at += 1;
  const ranges: [number, number][] = [];
  for (let isFirst = true; at < signs.length; isFirst = false) {
    if (signs[at] === ']' && !isFirst) return { set: { isNegated, ranges }, end: at };
    if (signs[at] === '\\' && at + 1 < signs.length) at += 1;
    const low = codeOf(signs[at]);
    const hasHigh = signs[at + 1] === '-' && at + 2 < signs.length && signs[at + 2] !== ']';
    ranges.push([low, hasHigh ? codeOf(signs[at + 2]) : low]);
    at += hasHigh ? 3 : 1;
  }
  return undefined;
}

function codeOf(sign: string | undefined): number {
  return sign?.codePointAt(0) ?? 0;
}
