// The program's logger: pino, JSON lines on stdout, or readable lines when a person looks at a terminal. Every line
// is redacted as a whole just before it is written, so that no code path can forget to (A9).

import { pino } from 'pino';
import type { Log } from '../actors/log.ts';
import { hasColours } from './cli/paint.ts';

export interface LogOptions {
  readonly level: string;
  /** 1 = stdout, 2 = stderr. */
  readonly fd: 1 | 2;
  redact(line: string): string;
}

export async function createLog({ level, fd, redact }: LogOptions): Promise<Log> {
  const output = lastingOutput(fd);
  const stream = fd === 1 ? process.stdout : process.stderr;
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    hooks: { streamWrite: redact },
  };
  if (!stream.isTTY) {
    const log: Log = pino({ ...options, formatters: { level: (label) => ({ level: label }) } }, output);
    return log;
  }
  // Loaded only when somebody looks: it would be a third of the start-up time.
  const { default: pretty } = await import('pino-pretty');
  const log: Log = pino(
    options,
    pretty({
      destination: output,
      colorize: hasColours(stream, process.env),
      singleLine: true,
      ignore: 'pid,hostname',
      translateTime: 'HH:MM:ss.l',
    }),
  );
  return log;
}

/** So much is held while it cannot be written; what comes beyond that is lost. */
const MAX_HELD_BYTES = 1024 * 1024;

/** Writes at once. A disk that is full, or a terminal that is gone, costs log lines and not the gateway. */
function lastingOutput(fd: 1 | 2) {
  const output = pino.destination({ fd, sync: true, maxLength: MAX_HELD_BYTES });
  output.on('error', () => {});
  return output;
}
