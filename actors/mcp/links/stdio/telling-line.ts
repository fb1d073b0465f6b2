// Which of the last lines on stderr tells why a process is gone. It is the last one, but for programs that say more below
// their error: Node (its stack, its version), and what starts most servers, npx, uvx and docker (where to read on).

/** How a kind of program ends, and where its error is then. */
interface Ending {
  isOf(last: string, lines: readonly string[]): boolean;
  errorIn(lines: readonly string[]): string | undefined;
}

/** The most telling of `lines`, and what it is; undefined when there are none. */
export function tellingLine(lines: readonly string[]): string | undefined {
  const said = withoutNotices(lines);
  const last = said.at(-1);
  if (last === undefined) return undefined;
  const error = endings.find((ending) => ending.isOf(last, said))?.errorIn(said);
  return error === undefined ? `its last line on stderr: ${last}` : `its last error on stderr: ${error}`;
}

/** npm tells of new versions of itself below everything else. Where there is nothing but notices they are kept. */
function withoutNotices(lines: readonly string[]): readonly string[] {
  const end = lines.findLastIndex((line) => !/^npm (?:notice|warn|WARN)\b/.test(line));
  return end === -1 ? lines : lines.slice(0, end + 1);
}

/** Ended for an uncaught error: with the version below everything that is known of it. */
const node: Ending = {
  isOf: (last) => /^Node\.js v\d/.test(last),
  /** Lines of a message may look like errors, too: where there is a pointer at where it was thrown, it is what counts. */
  errorIn: (lines) =>
    lines.findLast(
      (line, at) =>
        /^\s*\^+$/.test(lines[at - 1] ?? '') ||
        // From 22 on a word about TypeScript may come between for what was read from stdin.
        (/^SyntaxError: /.test(line) && /^\s*\^+$/.test(lines[at - 2] ?? '')),
    ) ??
    // A bundle's lines are too long for the pointer to be kept.
    lines.findLast((line) => /^\w*Error\b/.test(line)),
};

const npmPrefix = /^npm (?:error|ERR!) ?/;
/** What npm says besides the reason: members of the error, its stack, and where its log is. */
const npmDetail =
  /^(?:code|syscall|errno|path|dest|file|cwd|stack|signal)\b|^\s|^[{}]|^A complete log\b|^Log files were\b/;

const npm: Ending = {
  isOf: (last) => npmPrefix.test(last),
  errorIn: (lines) => {
    const said = lines.filter((line) => npmPrefix.test(line)).map((line) => line.replace(npmPrefix, ''));
    const begin = said.findLastIndex((line) => line.startsWith('code '));
    const reasons = said.slice(begin + 1).filter((line) => line.trim() !== '' && !npmDetail.test(line));
    const [first, second = ''] = reasons;
    if (first === undefined) return undefined;
    // A script of the package: the next line is its command.
    if (first === 'command failed') return `${first}: ${second.replace(/^command /, '')}`;
    // A word for the kind of error stands before each line; a status is told once.
    const word = /^[a-z]+ /.exec(first)?.[0];
    return word !== undefined && second.startsWith(word.trim())
      ? first.slice(word.length)
      : first.replace(/^(\d{3}) (?=\1 )/, '');
  },
};

/** uv frames its reasons: a headline after a cross, and after an arrow why, wrapped to the width of a terminal. */
const cross = /^\s*[×x] /;
const arrow = /^\s*(?:[├╰]─▶|`->|\|->) /;

const uv: Ending = {
  isOf: (_, lines) => {
    const head = lines.findLastIndex((line) => cross.test(line));
    return (
      head !== -1 &&
      arrow.test(lines[head + 1] ?? '') &&
      lines.slice(head + 1).every((line) => /^\s/.test(line))
    );
  },
  errorIn: (lines) => {
    const head = lines.findLastIndex((line) => cross.test(line));
    const why = lines.slice(head + 1);
    const next = why.findIndex((line, at) => at > 0 && (arrow.test(line) || /^\s*(?:hint:|\[)/.test(line)));
    const reason = (next === -1 ? why : why.slice(0, next)).map((line) => line.replace(arrow, '').trim());
    return `${lines[head]?.replace(cross, '').replace(/:$/, '')}: ${reason.join(' ')}`;
  },
};

/** As programs in Rust tell an error, uv among them: what it came of stands below it. */
const caused: Ending = {
  isOf: (last) => /^\s+Caused by: /.test(last),
  errorIn: (lines) => {
    const error = lines.findLast((line) => /^error: /.test(line));
    return error === undefined ? undefined : `${error}; ${(lines.at(-1) ?? '').trim()}`;
  },
};

/** A package without a program of the name that was asked for: uv lists those that are there. */
const listed: Ending = {
  isOf: (last) => /^- \S+$/.test(last),
  errorIn: (lines) => lines.findLast((line) => /\bexecutable\b.*\bnot (?:found|provided)\b/.test(line)),
};

const docker: Ending = {
  isOf: (last) => /^(?:See|Run) '.+ --help'/.test(last),
  errorIn: (lines) =>
    lines.findLast((line) => /^\S*docker(?:\.exe)?: /.test(line)) ??
    lines.slice(0, -1).findLast((line) => !/^Usage: /.test(line)),
};

const endings: readonly Ending[] = [node, npm, uv, caused, listed, docker];
