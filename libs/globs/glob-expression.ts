// Converts a glob to a regular expression for RE2, which matches in time linear in the text. Globs come from
// a model or an operator and texts from untrusted sources, so a backtracking matcher could run for minutes.
//
// `*` matches any characters, `?` one character, `[a-z]` a character of a set, `[!a-z]` and `[^a-z]` a
// character outside it, `{a,b}` either alternative. `\` escapes the next character; unbalanced brackets are
// literal. Every text is a valid glob.

export type GlobKind =
  /** Plain text: no character is special. */
  | 'text'
  /** Path segments: only `**` as a whole segment matches slashes (any number of folders). */
  | 'path'
  /** Like `path`, but `**` matches any characters everywhere. */
  | 'ref';

const SLASH = 0x2f;

/** Returns an expression that must match the whole text, for RE2 with the flag DOTALL. */
export function globExpression(pattern: string, kind: GlobKind): string {
  // Consecutive `**` segments are equivalent to one.
  const plain = kind === 'text' ? pattern : pattern.replace(/(^|\/)\*{2,}(?:\/\*{2,})+(?=\/|$)/g, '$1**');
  const characters = Array.from(plain);
  const any = kind === 'text' ? '.' : '[^/]';
  /** Alternatives so far, for the glob itself (always one) and each open pair of braces. */
  const groups: string[][] = [['']];
  const alternatives = () => groups.at(-1) ?? [];
  const add = (source: string) => alternatives().push((alternatives().pop() ?? '') + source);
  const isInBraces = () => groups.length > 1;

  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? '';
    const set = character === '[' ? setAt(characters, at, kind) : undefined;
    if (set !== undefined) {
      add(set.source);
      at = set.end;
    } else if (character === '*') {
      const begin = at;
      while (characters[at + 1] === '*') at += 1;
      const isSegment =
        isEdge(characters[begin - 1], '{,', isInBraces()) && isEdge(characters[at + 1], ',}', isInBraces());
      if (kind === 'text' || at === begin || !isSegment) {
        add(at > begin && kind !== 'path' ? '.*' : `${any}*`);
      } else if (characters[at + 1] === '/') {
        add('(?:.*/)?');
        at += 1;
      } else if (alternatives().at(-1)?.endsWith('/')) {
        // `a/**` matches the folder `a` and everything below it, so its slash becomes optional.
        alternatives().push((alternatives().pop() ?? '').slice(0, -1));
        add('(?:/.*)?');
      } else add('.*');
    } else if (character === '?') add(any);
    else if (character === '{') groups.push(['']);
    else if (character === ',' && isInBraces()) alternatives().push('');
    else if (character === '}' && isInBraces()) {
      const closed = groups.pop() ?? [];
      add(closed.length > 1 ? `(?:${closed.join('|')})` : `\\{${closed.join('')}\\}`);
    } else {
      if (character === '\\' && at + 1 < characters.length) at += 1;
      add(literal(characters[at] ?? ''));
    }
  }
  while (isInBraces()) {
    const unclosed = groups.pop() ?? [];
    add(`\\{${unclosed.join(',')}`);
  }
  return alternatives().join('');
}

/**
 * Returns true if a neighbour of `**` is the edge of a path segment: undefined (end of the glob), a slash, or
 * in braces one of `braces`.
 */
function isEdge(character: string | undefined, braces: string, isInBraces: boolean): boolean {
  return character === undefined || character === '/' || (isInBraces && braces.includes(character));
}

/** Parses the set at `begin`; returns undefined if it is not closed, so the bracket is literal. */
function setAt(
  characters: readonly string[],
  begin: number,
  kind: GlobKind,
): { source: string; end: number } | undefined {
  let at = begin + 1;
  const isNegated = characters[at] === '!' || characters[at] === '^';
  if (isNegated) at += 1;
  const ranges: [number, number][] = [];
  for (let isFirst = true; at < characters.length; isFirst = false) {
    if (characters[at] === ']' && !isFirst) return { source: setSource(ranges, isNegated, kind), end: at };
    if (characters[at] === '/' && kind !== 'text') return undefined;
    if (characters[at] === '\\' && at + 1 < characters.length) at += 1;
    const low = codeOf(characters[at]);
    const hasHigh = characters[at + 1] === '-' && at + 2 < characters.length && characters[at + 2] !== ']';
    ranges.push([low, hasHigh ? codeOf(characters[at + 2]) : low]);
    at += hasHigh ? 3 : 1;
  }
  return undefined;
}

function setSource(ranges: readonly [number, number][], isNegated: boolean, kind: GlobKind): string {
  const hasSegments = kind !== 'text';
  const wanted = hasSegments && !isNegated ? ranges.flatMap(withoutSlash) : ranges;
  const some = wanted
    .filter(([low, high]) => low <= high)
    .map(([low, high]) => `${escaped(low)}-${escaped(high)}`);
  if (isNegated)
    return some.length === 0 && !hasSegments ? '.' : `[^${some.join('')}${hasSegments ? '/' : ''}]`;
  // A reversed range is empty.
  return some.length === 0 ? '[^\\x{0}-\\x{10FFFF}]' : `[${some.join('')}]`;
}

function withoutSlash([low, high]: [number, number]): [number, number][] {
  if (low > SLASH || high < SLASH) return [[low, high]];
  return [
    [low, SLASH - 1],
    [SLASH + 1, high],
  ];
}

function literal(character: string): string {
  return /[\\^$.|?*+()[\]{}]/.test(character) ? `\\${character}` : character;
}

function escaped(code: number): string {
  return `\\x{${code.toString(16)}}`;
}

function codeOf(character: string | undefined): number {
  return character?.codePointAt(0) ?? 0;
}
