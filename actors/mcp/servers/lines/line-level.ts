// How grave a line about a server is: as the server says it in a log message, or as a line on stderr looks. Four levels, since
// programs agree on no more; the words of all of them are read.
//
// LVL1  whatever a line is, it has one of the four levels, in a time that grows with the first words of it only.

/** The least grave first. */
export const lineLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LineLevel = (typeof lineLevels)[number];

/** As MCP, pino, Python, .NET, Java, Rust, npm and syslog say it. */
const words: Readonly<Record<LineLevel, string>> = {
  debug: 'trace trc verbose verb silly finest debug dbg dbug',
  info: 'info inf information informational notice',
  warn: 'warn wrn warning',
  error: 'error err fail fatal ftl critical crit severe panic alert emerg emergency',
};

const byWord: ReadonlyMap<string, LineLevel> = new Map(
  lineLevels.flatMap((level) => words[level].split(' ').map((word) => [word, level] as const)),
);

/** The level of that name, whoever's name it is: `warning` is `warn`. */
export function levelNamed(word: string): LineLevel | undefined {
  return byWord.get(word.toLowerCase());
}

/** Whether `level` is `least` or graver. */
export function isAtLeast(level: LineLevel, least: LineLevel): boolean {
  return lineLevels.indexOf(level) >= lineLevels.indexOf(least);
}

/** Reads the lines of one process in turn: what is indented, as a stack is, belongs to the line above. */
export function stderrLevels(): (line: string) => LineLevel {
  let above: LineLevel = 'info';
  return (line) => {
    if (!/^\s/.test(line)) above = levelOf(line);
    return above;
  };
}

/** Of a line by itself; `info` where it says nothing of a level. */
export function levelOf(line: string): LineLevel {
  const head = line.slice(0, HEAD_CHARS);
  return inFields(head) ?? inForms(head) ?? inFirstWords(head) ?? 'info';
}

const HEAD_CHARS = 300;

const NAME = '(?:level|lvl|severity|levelname|log\\.level)';
const jsonMember = new RegExp(`"${NAME}"\\s*:\\s*"?(\\w+)`, 'i');
const logfmtField = new RegExp(`(?:^|\\s)${NAME}=["']?(\\w+)`, 'i');

/** `{"level":"error"}`, `{"level":50}` as pino has it, `severity=ERROR`. A quote within a JSON text is escaped, so no text feigns it. */
function inFields(head: string): LineLevel | undefined {
  const [, word] = (head.startsWith('{') && jsonMember.exec(head)) || (logfmtField.exec(head) ?? []);
  if (word === undefined) return undefined;
  return /^\d+$/.test(word) ? ofNumber(Number(word)) : levelNamed(word);
}

function ofNumber(level: number): LineLevel {
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
/** No word of a level stands alone at the beginning of a sentence but these. */
const plainly = /^(?:fatal|error|failed to)(?=[\s:!([])/i;

/** What begins like nothing else: uncaught errors, npm, and the letter and date of glog. */
function inForms(head: string): LineLevel | undefined {
  if (uncaught.test(head) || plainly.test(head)) return 'error';
  const [, npm] = /^npm (\w+)/.exec(head) ?? [];
  if (npm !== undefined) return levelNamed(npm);
  const [, glog] = /^([DIWEF])\d{4} \d\d:\d\d/.exec(head) ?? [];
  return glog === undefined ? undefined : letters[glog];
}

const MAX_WORDS = 8;

/**
 * A level among what stands before the message: times, names in brackets, names between dashes. It is in capitals, in brackets, after a
 * time, or has a colon; so `error: x` is one, and `no error` is none.
 */
function inFirstWords(head: string): LineLevel | undefined {
  const tokens = head.split(/\s+/, MAX_WORDS);
  let isAfterTime = false;
  for (const [at, token] of tokens.entries()) {
    const [, opening = '', word = '', rest = ''] = /^([^\w]*)(\w*)(.*)$/.exec(token) ?? [];
    const level = levelNamed(word) ?? (/Warning$/.test(word) ? 'warn' : undefined);
    const isMarked = /[[(<|]/.test(opening) || /^[\])>|:[]/.test(rest) || isAfterTime;
    if (level !== undefined && (isMarked || (word === word.toUpperCase() && rest.length <= 1))) return level;
    isAfterTime = /\d:\d/.test(token);
    const isName = /[^a-z]/i.test(token) || /^[-|]$/.test(tokens[at + 1] ?? '');
    if (!isName) return undefined;
  }
  return undefined;
}
