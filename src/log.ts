// The program's logger: pino, JSON lines on stdout, or readable lines when a person looks at a terminal. Every line
// is redacted as a whole just before it is written, so that no code path can forget to (A9).

import { pino } from 'pino';
import type { Log } from '../actors/base/errors/log.ts';
import type { Redactor } from '../actors/base/errors/redact.ts';
import { hasColours, type Paint, paintFor } from './terminal/paint.ts';
import { jsonForTerminal, printable, printableLines } from './terminal/terminal-text.ts';

export interface LogOptions {
  readonly level: string;
  /** 1 = stdout, 2 = stderr. */
  readonly fd: 1 | 2;
  readonly redactor: Redactor;
}

export async function createLog({ level, fd, redactor }: LogOptions): Promise<Log> {
  const output = lastingOutput(fd);
  const stream = fd === 1 ? process.stdout : process.stderr;
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    // Files are looked at in terminals too.
    hooks: { streamWrite: (line: string) => jsonForTerminal(redactor.redact(line)) },
  };
  if (!stream.isTTY) {
    const log: Log = pino({ ...options, formatters: { level: (label) => ({ level: label }) } }, output);
    return log;
  }
  // Loaded only when somebody looks: it would be a third of the start-up time.
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({
    colorize: hasColours(stream, process.env),
    singleLine: true,
    ignore: 'pid,hostname',
    translateTime: 'HH:MM:ss.l',
  });
  const paint = paintFor(stream, process.env);
  const log: Log = pino(
    { ...options, hooks: { streamWrite: (line: string) => legible(redactor.redact(line)) } },
    { write: (line: string) => void output.write(serverLine(line, paint) ?? pretty(line)) },
  );
  return log;
}

/** What a server wrote on stderr, as `name | line`: its time and level are not its own. Undefined for any other line. */
function serverLine(line: string, paint: Paint): string | undefined {
  if (!line.includes('"stream":"stderr"')) return undefined;
  try {
    const { stream, server, msg } = JSON.parse(line) as Record<string, unknown>;
    if (stream !== 'stderr' || typeof server !== 'string') return undefined;
    return `${paint('strong', printable(server))} | ${printable(String(msg))}\n`;
  } catch {
    return undefined;
  }
}

/** The line as a terminal may have it: pino-pretty writes what the JSON says, escapes and all. */
function legible(line: string): string {
  if (!MAY_HOLD_CONTROLS.test(line)) return line;
  const clean = (key: string, value: unknown): unknown =>
    typeof value !== 'string' ? value : key === 'msg' ? printable(value) : printableLines(value);
  try {
    return `${JSON.stringify(JSON.parse(line, clean))}\n`;
  } catch {
    // What was struck out of the line may have broken it; pino-pretty shows such a line as it is.
    return `${jsonForTerminal(line.trimEnd())}\n`;
  }
}

/** An escape, or what JSON needs not escape. */
const MAY_HOLD_CONTROLS = /\\[bfnrtu]|[\u007f-\u009f]|\p{Cf}/u;

/** So much is held while it cannot be written; what comes beyond that is lost. */
const MAX_HELD_BYTES = 1024 * 1024;

/** Writes at once. A disk that is full, or a terminal that is gone, costs log lines and not the gateway. */
function lastingOutput(fd: 1 | 2) {
  const output = pino.destination({ fd, sync: true, maxLength: MAX_HELD_BYTES });
  output.on('error', () => {});
  return output;
}
