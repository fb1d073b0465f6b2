// Error output of Python programs: tracebacks, click, and Rich, which the MCP SDK, FastMCP and typer use.
// Rich wraps lines to 80 columns if stderr is not a terminal.

import { blockIn, type ErrorFormat, isIndented, joinedLines, linesUntil } from './error-format.ts';

/** First line of a log record of Rich: time, level, message, source position. */
const record = /^(?:\[[^\]]{1,40}\]|\s{3,40}) ?(DEBUG|INFO|WARNING|ERROR|CRITICAL) {1,5}(\S.*)$/;
/** Source position at the end of that line. */
const position = /\s+\S+\.py:\d+\s*$/;
/** Further line of a record; Rich aligns it below the message. */
const continuation = /^\s{10,}\S/;
/** Frame of a panel, and a line within it; `+`, `-` and `|` if stderr cannot show box characters. */
const frame = /^\s*[╭╰+][─-]/;
const inFrame = /^\s*[│|] (.*?)\s*[│|]\s*$/;

const richLog: ErrorFormat = {
  isOf: (_, lines) => blockIn(lines, record, (line) => continuation.test(line)) !== undefined,
  errorIn: (lines) => {
    const records = lines.flatMap((line, at) => (record.test(line) ? [at] : []));
    const severe = records.findLast((at) =>
      /^(?:ERROR|CRITICAL)$/.test(record.exec(lines[at] ?? '')?.[1] ?? ''),
    );
    const head = severe ?? records.at(-1) ?? 0;
    const isNext = (line: string) => record.test(line) || !continuation.test(line);
    const message = record.exec(lines[head] ?? '')?.[2]?.replace(position, '') ?? '';
    const rest = linesUntil(lines.slice(head + 1), isNext).filter(
      (line) => !frame.test(line) && !inFrame.test(line),
    );
    return joinedLines([message, ...rest]);
  },
};

/** An error panel of typer: the message is wrapped within the frame. */
const panel: ErrorFormat = {
  isOf: (last, lines) => /^\s*[╰+][─-]+[╯+]\s*$/.test(last) && inFrame.test(lines.at(-2) ?? ''),
  errorIn: (lines) => {
    const top = lines.findLastIndex((line, at) => at < lines.length - 1 && frame.test(line));
    const body = lines.slice(top + 1, -1).map((line) => inFrame.exec(line)?.[1] ?? '');
    return joinedLines(body);
  },
};

/** click lists choices below its error. */
const click: ErrorFormat = {
  isOf: (last, lines) => isIndented(last) && clickError(lines) !== undefined,
  errorIn: (lines) => joinedLines(clickError(lines) ?? []),
};

/** Returns the last `Error:` line and the lines below it, which must be indented. */
function clickError(lines: readonly string[]): readonly string[] | undefined {
  return blockIn(lines, /^Error: /, isIndented);
}

/** Prefix of the lines of an exception group, and a line that separates its exceptions. */
const groupPrefix = /^\s+[|+] ?/;
const groupRule = /^\s*\+[-+]/;
const tracebackHead = /Traceback \(most recent call last\)/;
/** A dotted class name, alone or with a message. */
const exception = /^[A-Za-z_][\w.]{0,199}(?:: |:?$)/;

/**
 * An uncaught exception: its line follows the last traceback, and further lines of its message below. A later
 * error or log record of the program takes precedence.
 */
const traceback: ErrorFormat = {
  isOf: (_, lines) => exceptionIn(lines) !== undefined,
  errorIn: (lines) => joinedLines(exceptionIn(lines) ?? []),
};

/** Returns the line of the last exception and the lines below it. */
function exceptionIn(lines: readonly string[]): readonly string[] | undefined {
  const plain = lines.filter((line) => !groupRule.test(line)).map((line) => line.replace(groupPrefix, ''));
  const head = plain.findLastIndex((line) => tracebackHead.test(line));
  if (head === -1) return undefined;
  // The exception is the first line below the frames of the traceback.
  const at = plain.findIndex((line, n) => n > head && !/^[\s│╭╰]/.test(line));
  if (at === -1 || !exception.test(plain[at] ?? '')) return undefined;
  const below = plain.slice(at + 1);
  return below.some((line) => laterOutput.test(line)) ? undefined : plain.slice(at);
}

/** The interpreter itself fails: the exception, if any, is below the error, and the threads are last. */
const interpreter: ErrorFormat = {
  isOf: (last, lines) =>
    /^\s+(?:File "|<no Python frame>)/.test(last) && lines.some((line) => fatalError.test(line)),
  errorIn: (lines) =>
    lines.findLast((line) => /^[A-Z]\w*Error: /.test(line)) ??
    lines.findLast((line) => fatalError.test(line)),
};

const fatalError = /^Fatal Python error: /;

/** A log record, or an error that the program reports after a handled exception. */
const laterOutput = /^(?:\[?\d{2,4}[-/:]\d|(?:error|fatal|critical|failed|could not|info|warning)\b)/i;

export const pythonFormats: readonly ErrorFormat[] = [traceback, richLog, panel, click, interpreter];
