// Selects the stderr line that explains why a process has exited. Usually it is the last line, but some
// programs print more below the error: Node (stack, version), the launchers npx, uvx and docker (hints), and
// Python (python-errors.ts).

import { blockIn, type ErrorFormat, isIndented, joinedLines, linesUntil } from './error-format.ts';
import { pythonFormats } from './python-errors.ts';

/** Returns the most informative line, introduced by `its last … on stderr:`; undefined without lines. */
export function informativeLine(lines: readonly string[]): string | undefined {
  const relevant = withoutNotices(lines);
  const last = relevant.at(-1);
  if (last === undefined) return undefined;
  const error = formats.find((format) => format.isOf(last, relevant))?.errorIn(relevant);
  return error === undefined ? `its last line on stderr: ${last}` : `its last error on stderr: ${error}`;
}

/** Removes trailing notices of npm and pip about new versions, unless all lines are notices. */
function withoutNotices(lines: readonly string[]): readonly string[] {
  const end = lines.findLastIndex((line) => !/^npm (?:notice|warn|WARN)\b|^\[notice\] |^\s*$/.test(line));
  return end === -1 ? lines : lines.slice(0, end + 1);
}

/** Uncaught error in Node: the version is printed below all details. */
const node: ErrorFormat = {
  isOf: (last) => /^Node\.js v\d/.test(last),
  /**
   * Lines of the message may look like errors too, so the line below the pointer to the throw position is
   * preferred.
   */
  errorIn: (lines) =>
    lines.findLast(
      (line, at) =>
        /^\s*\^+$/.test(lines[at - 1] ?? '') ||
        // Since Node 22 a note about TypeScript may be in between, for scripts read from stdin.
        (/^SyntaxError: /.test(line) && /^\s*\^+$/.test(lines[at - 2] ?? '')),
    ) ??
    // In bundles the line is too long for the pointer to be stored.
    lines.findLast((line) => /^\w*Error\b/.test(line)),
};

const npmPrefix = /^npm (?:error|ERR!) ?/;
/** Lines of npm that are not the reason: error members, the stack, the path of the log. */
const npmDetail =
  /^(?:code|syscall|errno|path|dest|file|cwd|stack|signal)\b|^\s|^[{}]|^A complete log\b|^Log files were\b/;

const npm: ErrorFormat = {
  isOf: (last) => npmPrefix.test(last),
  errorIn: (lines) => {
    const relevant = lines.filter((line) => npmPrefix.test(line)).map((line) => line.replace(npmPrefix, ''));
    // The report of an error begins with its `code`. Only the last report counts.
    const begin = relevant.findLastIndex((line) => line.startsWith('code '));
    const reasons = relevant.slice(begin + 1).filter((line) => line.trim() !== '' && !npmDetail.test(line));
    const [first, second = ''] = reasons;
    if (first === undefined) return undefined;
    // A script of the package: the next line is its command.
    if (first === 'command failed') return `${first}: ${second.replace(/^command /, '')}`;
    // Each line starts with the kind of error; the kind or status is not repeated.
    const kind = /^[a-z]+ /.exec(first)?.[0];
    return kind !== undefined && second.startsWith(kind.trim())
      ? first.slice(kind.length)
      : first.replace(/^(\d{3}) (?=\1 )/, '');
  },
};

/** uv marks a headline with a cross and its cause with an arrow, and wraps both to the terminal width. */
const cross = /^\s*[×x] /;
const arrow = /^\s*(?:[├╰]─▶|`->|\|->) /;

const hint = /^\s*(?:hint:|\[)/;

const uv: ErrorFormat = {
  isOf: (_, lines) => arrow.test(blockIn(lines, cross, isIndented)?.[1] ?? ''),
  errorIn: (lines) => {
    const [head = '', first = '', ...below] = blockIn(lines, cross, isIndented) ?? [];
    const rest = linesUntil(below, (line) => arrow.test(line) || hint.test(line));
    const reason = [first.replace(arrow, ''), ...rest].map((line) => line.trim());
    return `${head.replace(cross, '').replace(/:$/, '')}: ${reason.join(' ')}`;
  },
};

/** Rust programs such as uv: a chain of causes is below the error, and hints below the chain. */
const causeLabel = /^\s+(?:Caused by|cause): /;

const rust: ErrorFormat = {
  isOf: (last, lines) => /^\s+\S|^hint: /.test(last) && chainIn(lines) !== undefined,
  errorIn: (lines) => {
    const [error = '', ...below] = chainIn(lines) ?? [];
    return joinedLines([error, ...linesUntil(below, (line) => hint.test(line))], causeLabel);
  },
};

/** Returns the last `error:` line and the indented lines and hints below it, up to the end. */
function chainIn(lines: readonly string[]): readonly string[] | undefined {
  return blockIn(lines, /^error: /, (line) => isIndented(line) || hint.test(line));
}

/** A package that lacks the requested program; uv lists the available ones last. */
const missingProgram: ErrorFormat = {
  isOf: (last) => /^- \S+$/.test(last),
  errorIn: (lines) => lines.findLast((line) => /\bexecutable\b.*\bnot (?:found|provided)\b/.test(line)),
};

/** docker prints a hint to its help below the error. */
const docker: ErrorFormat = {
  isOf: (last) => /^(?:See|Run) '.+ --help'/.test(last),
  errorIn: (lines) =>
    lines.findLast((line) => /^\S*docker(?:\.exe)?: /.test(line)) ??
    lines.slice(0, -1).findLast((line) => !/^Usage: /.test(line)),
};

/** Command lines of Rust: the usage is below the error. */
const clap: ErrorFormat = {
  isOf: (last) => /^For more information,? try '/.test(last),
  errorIn: (lines) => lines.findLast((line) => /^error: /.test(line)),
};

const formats: readonly ErrorFormat[] = [node, npm, uv, rust, clap, missingProgram, docker, ...pythonFormats];
