// Logger of the program: pino, with JSON lines on stdout, or readable lines for terminals. Each line is
// redacted as a whole just before it is written, and no code path can forget it (A9, ARCHITECTURE.md).

import { pino } from 'pino';
import type { Log } from '../actors/base/errors/log.ts';
import type { Redactor } from '../actors/base/errors/redact.ts';
import { hasColours, type Paint, paintFor } from './terminal/paint.ts';
import { jsonForTerminal, printable, printableLine, printableLines } from './terminal/terminal-text.ts';

export interface LogOptions {
  readonly level: string;
  /** 1 = stdout, 2 = stderr. */
  readonly fd: 1 | 2;
  readonly redactor: Redactor;
}

export async function createLog({ level, fd, redactor }: LogOptions): Promise<Log> {
  const output = faultTolerantOutput(fd);
  const stream = fd === 1 ? process.stdout : process.stderr;
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    // A log file may be printed on a terminal later.
    hooks: { streamWrite: (line: string) => jsonForTerminal(redactor.redact(line)) },
  };
  if (!stream.isTTY) {
    const log: Log = pino({ ...options, formatters: { level: (label) => ({ level: label }) } }, output);
    return log;
  }
  // Imported only for terminals: it takes a third of the start-up time.
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({
    colorize: hasColours(stream, process.env),
    singleLine: true,
    ignore: 'pid,hostname',
    // Local time with the offset.
    translateTime: 'SYS:HH:MM:ss.lo',
  });
  const paint = paintFor(stream, process.env);
  const log: Log = pino(
    { ...options, hooks: { streamWrite: (line: string) => cleanLine(redactor.redact(line)) } },
    { write: (line: string) => void output.write(serverLine(line, paint) ?? pretty(line)) },
  );
  return log;
}

/** Formats a server's stderr line as `name | line`, omitting the gateway's time and level; else undefined. */
function serverLine(line: string, paint: Paint): string | undefined {
  if (!line.includes('"stream":"stderr"')) return undefined;
  try {
    const { stream, server, msg } = JSON.parse(line) as Record<string, unknown>;
    if (stream !== 'stderr' || typeof server !== 'string') return undefined;
    return `${paint('strong', printable(server))} | ${printableLine(String(msg))}\n`;
  } catch {
    return undefined;
  }
}

/** Removes control characters, because pino-pretty decodes the JSON escapes and prints them. */
function cleanLine(line: string): string {
  if (!MAY_HOLD_CONTROLS.test(line)) return line;
  const clean = (key: string, value: unknown): unknown =>
    typeof value !== 'string' ? value : key === 'msg' ? printableLine(value) : printableLines(value);
  try {
    return `${JSON.stringify(JSON.parse(line, clean))}\n`;
  } catch {
    // Redaction possibly broke the JSON; pino-pretty prints such a line unchanged.
    return `${jsonForTerminal(line.trimEnd())}\n`;
  }
}

/** Matches lines that may contain control characters: as JSON escapes or unescaped. */
const MAY_HOLD_CONTROLS = /\\[bfnrtu]|[\u007f-\u009f]|\p{Cf}/u;

/** Buffer for lines that cannot be written yet; further lines are dropped. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/** Writes synchronously. A full disk or a closed terminal loses log lines, but does not stop the gateway. */
function faultTolerantOutput(fd: 1 | 2) {
  const output = pino.destination({ fd, sync: true, maxLength: MAX_BUFFERED_BYTES });
  output.on('error', () => {});
  return output;
}
