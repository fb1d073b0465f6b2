// A glob as the source of a regular expression for RE2, which matches in time linear in the text: globs come from a model or an
// operator, texts from strangers, and a matcher that goes back stands still for minutes over five stars and a name of a's.
//
// `*` any characters, `?` one, `[a-z]` `[!a-z]` `[^a-z]` one of a set or one outside it, `{a,b}` either; `\` before a sign takes it
// literally, and so is what has no other half.
//
// Every text is a glob. What the source matches is what the glob says, whatever else has a meaning in expressions.

export type GlobKind =
  /** Text in which no sign is special. */
  | 'text'
  /** Segments with slashes between them: no sign but `**` as a whole segment, which is any folders or none, stands for a slash. */
  | 'path'
  /** The same, but `**` is any characters at all wherever it stands. */
  | 'ref';

const SLASH = 0x2f;

/** What matches the whole of a text, for RE2 with the flag DOTALL. */
export function globExpression(pattern: string, kind: GlobKind): string {
  // Folders of folders are folders.
  const plain = kind === 'text' ? pattern : pattern.replace(/(^|\/)\*{2,}(?:\/\*{2,})+(?=\/|$)/g, '$1**');
  const signs = Array.from(plain);
  const any = kind === 'text' ? '.' : '[^/]';
  /** Choices so far: of the glob itself, which has one only, and of each pair of braces that is open. */
  const open: string[][] = [['']];
  const choices = () => open.at(-1) ?? [];
  const add = (source: string) => choices().push((choices().pop() ?? '') + source);
  const isInBraces = () => open.length > 1;

  for (let at = 0; at < signs.length; at += 1) {
    const sign = signs[at] ?? '';
    const set = sign === '[' ? setAt(signs, at, kind) : undefined;
    if (set !== undefined) {
      add(set.source);
      at = set.end;
    } else if (sign === '*') {
      const begin = at;
      while (signs[at + 1] === '*') at += 1;
      const isSegment =
        isEdge(signs[begin - 1], '{,', isInBraces()) && isEdge(signs[at + 1], ',}', isInBraces());
      if (kind === 'text' || at === begin || !isSegment) {
        add(at > begin && kind !== 'path' ? '.*' : `${any}*`);
      } else if (signs[at + 1] === '/') {
        add('(?:.*/)?');
        at += 1;
      } else if (signs[begin - 1] === '/' && choices().at(-1)?.endsWith('/')) {
        // All below a folder, and the folder.
        choices().push((choices().pop() ?? '').slice(0, -1));
        add('(?:/.*)?');
      } else add('.*');
    } else if (sign === '?') add(any);
    else if (sign === '{') open.push(['']);
    else if (sign === ',' && isInBraces()) choices().push('');
    else if (sign === '}' && isInBraces()) {
      const done = open.pop() ?? [];
      add(done.length > 1 ? `(?:${done.join('|')})` : `\\{${done.join('')}\\}`);
    } else {
      if (sign === '\\' && at + 1 < signs.length) at += 1;
      add(literal(signs[at] ?? ''));
    }
  }
  while (isInBraces()) {
    const undone = open.pop() ?? [];
    add(`\\{${undone.join(',')}`);
  }
  return choices().join('');
}

/** Whether a segment begins or ends there. In braces, what stands outside of them decides for the first and the last only. */
function isEdge(sign: string | undefined, braces: string, isInBraces: boolean): boolean {
  return sign === undefined || sign === '/' || (isInBraces && braces.includes(sign));
}

/** The set that begins at `begin`; undefined when it has no end, and the bracket stands for itself. */
function setAt(
  signs: readonly string[],
  begin: number,
  kind: GlobKind,
): { source: string; end: number } | undefined {
  let at = begin + 1;
  const isNegated = signs[at] === '!' || signs[at] === '^';
  if (isNegated) at += 1;
  const ranges: [number, number][] = [];
  for (let isFirst = true; at < signs.length; isFirst = false) {
    if (signs[at] === ']' && !isFirst) return { source: setSource(ranges, isNegated, kind), end: at };
    if (signs[at] === '/' && kind !== 'text') return undefined;
    if (signs[at] === '\\' && at + 1 < signs.length) at += 1;
    const low = codeOf(signs[at]);
    const hasHigh = signs[at + 1] === '-' && at + 2 < signs.length && signs[at + 2] !== ']';
    ranges.push([low, hasHigh ? codeOf(signs[at + 2]) : low]);
    at += hasHigh ? 3 : 1;
  }
  return undefined;
}

function setSource(ranges: readonly [number, number][], isNegated: boolean, kind: GlobKind): string {
  const isOfSegments = kind !== 'text';
  const wanted = isOfSegments && !isNegated ? ranges.flatMap(withoutSlash) : ranges;
  const some = wanted
    .filter(([low, high]) => low <= high)
    .map(([low, high]) => `${escaped(low)}-${escaped(high)}`);
  if (isNegated)
    return some.length === 0 && !isOfSegments ? '.' : `[^${some.join('')}${isOfSegments ? '/' : ''}]`;
  // A range that runs backwards holds nothing.
  return some.length === 0 ? '[^\\x{0}-\\x{10FFFF}]' : `[${some.join('')}]`;
}

function withoutSlash([low, high]: [number, number]): [number, number][] {
  if (low > SLASH || high < SLASH) return [[low, high]];
  return [
    [low, SLASH - 1],
    [SLASH + 1, high],
  ];
}

function literal(sign: string): string {
  return /[\\^$.|?*+()[\]{}]/.test(sign) ? `\\${sign}` : sign;
}

function escaped(code: number): string {
  return `\\x{${code.toString(16)}}`;
}

function codeOf(sign: string | undefined): number {
  return sign?.codePointAt(0) ?? 0;
}
