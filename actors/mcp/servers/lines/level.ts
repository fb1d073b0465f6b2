// Determines the severity of log messages and stderr lines: one of four levels. Recognises the level names of
// common loggers. The cost depends only on a line's first words.

/** Levels of lines, least severe first. */
export const lineLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LineLevel = (typeof lineLevels)[number];

/** Level names of MCP, pino, Python, .NET, Java, Rust, npm and syslog. */
const levelNames: Readonly<Record<LineLevel, string>> = {
  debug: 'trace trc verbose verb silly finest debug dbg dbug',
  info: 'info inf information informational notice',
  warn: 'warn wrn warning',
  error: 'error err fail fatal ftl critical crit severe panic alert emerg emergency',
};

const byName: ReadonlyMap<string, LineLevel> = new Map(
  lineLevels.flatMap((level) => levelNames[level].split(' ').map((word) => [word, level] as const)),
);

/** Returns the level with that name in any logger: `warning` is `warn`. */
export function levelByName(word: string): LineLevel | undefined {
  return byName.get(word.toLowerCase());
}

/** Returns true if `level` is at least as severe as `least`. */
export function isAtLeast(level: LineLevel, least: LineLevel): boolean {
  return lineLevels.indexOf(level) >= lineLevels.indexOf(least);
}

/**
 * Returns a function that returns the level per line of process output. An indented line, as in a stack
 * trace, has the level of the line above.
 */
export function stderrLevels(): (line: string) => LineLevel {
  let above: LineLevel = 'info';
  return (line) => {
    if (!/^\s/.test(line)) above = levelOf(line);
    return above;
  };
}

/** Returns the level named in a line; `info` by default. */
export function levelOf(line: string): LineLevel {
  const head = line.slice(0, HEAD_CHARS);
  return levelInFields(head) ?? levelInForms(head) ?? levelInPrefix(head) ?? 'info';
}

/** Number of characters that are read per line. */
const HEAD_CHARS = 300;

const NAME = '(?:level|lvl|severity|levelname|log\\.level)';
const jsonMember = new RegExp(`"${NAME}"\\s*:\\s*"?(\\w+)`, 'i');
const logfmtField = new RegExp(`(?:^|\\s)${NAME}=["']?(\\w+)`, 'i');

/**
 * Finds the level in a field: `{"level":"error"}`, `{"level":50}` (pino), `severity=ERROR`. Text inside JSON
 * strings cannot match, because its quotes are escaped.
 */
function levelInFields(head: string): LineLevel | undefined {
  const [, word] = (head.startsWith('{') && jsonMember.exec(head)) || (logfmtField.exec(head) ?? []);
  if (word === undefined) return undefined;
  return /^\d+$/.test(word) ? levelOfNumber(Number(word)) : levelByName(word);
}

/** Returns the level for a numeric level of the logger pino. */
function levelOfNumber(level: number): LineLevel {
  return level < 30 ? 'debug' : level < 40 ? 'info' : level < 50 ? 'warn' : 'error';
}

const letters: Readonly<Record<string, LineLevel>> = {
  D: 'debug',
  I: 'info',
  W: 'warn',
  E: 'error',
  F: 'error',
};

const uncaught =
  /^(?:Traceback \(most recent call last\)|Uncaught |Unhandled|thread '.*' panicked|\w*Error \[\w+\]:|[\w.$]+(?:Error|Exception): )/;
/** Level names that count even at the start of an ordinary sentence. */
const plainPrefix = /^(?:fatal|error|failed to)(?=[\s:!([])/i;

/** Finds the level in typical beginnings: uncaught errors, npm, and the letter and date of glog. */
function levelInForms(head: string): LineLevel | undefined {
  if (uncaught.test(head) || plainPrefix.test(head)) return 'error';
  const [, npm] = /^npm (\w+)/.exec(head) ?? [];
  if (npm !== undefined) return levelByName(npm);
  const [, glog] = /^([DIWEF])\d{4} \d\d:\d\d/.exec(head) ?? [];
  return glog === undefined ? undefined : letters[glog];
}

const MAX_WORDS = 8;

/**
 * Finds the level in the prefix of the line, among times, names in brackets, and names between dashes. The
 * level must be in capitals or brackets, follow a time, or precede a colon: `error: x` matches, `no error`
 * does not.
 */
function levelInPrefix(head: string): LineLevel | undefined {
  const tokens = head.split(/\s+/, MAX_WORDS);
  let isAfterTime = false;
  for (const [at, token] of tokens.entries()) {
    const [, opening = '', word = '', rest = ''] = /^([^\w]*)(\w*)(.*)$/.exec(token) ?? [];
    const level = levelByName(word) ?? (/Warning$/.test(word) ? 'warn' : undefined);
    const isMarked = /[[(<|]/.test(opening) || /^[\])>|:[]/.test(rest) || isAfterTime;
    if (level !== undefined && (isMarked || (word === word.toUpperCase() && rest.length <= 1))) return level;
    isAfterTime = /\d:\d/.test(token);
    const isName = /[^a-z]/i.test(token) || /^[-|]$/.test(tokens[at + 1] ?? '');
    if (!isName) return undefined;
  }
  return undefined;
}
