// Copies the gateway's log lines to the stored lines of their source: the server, trigger or other part that
// a line names, otherwise the gateway or the store. GET /logs returns both kinds of lines. The log itself is
// unchanged. Per source, level and second MAX_PER_SECOND lines are stored, then the number of omitted ones
// (A6 and A8, ARCHITECTURE.md).

import { deleteOldest } from '../../../base/bounds/delete-oldest.ts';
import type { Log } from '../../../base/errors/log.ts';
import type { Redactor } from '../../../base/errors/redact.ts';
import { displayLine } from '../../links/stdio/display-line.ts';
import { LineRate } from '../../links/stdio/line-rate.ts';
import type { LineLevel } from './level.ts';
import { type LineSource, namedKinds, type RecentLines } from './recent.ts';

const MAX_PER_SECOND = 100;
const MAX_CHARS = 500;
const MAX_NAME = 200;
/** Maximum number of rate limiters; the newest remain. */
const MAX_RATES = 1_000;

/** Fields that are useful only in the log itself. */
const omittedFields = new Set(['reason', 'traceparent', 'request_id']);

/**
 * Returns a log that also stores the lines, except `debug` lines: these may occur with each call. `writer` is
 * the default source.
 */
export function storingLog(
  log: Log,
  lines: RecentLines,
  redactor: Redactor,
  writer: 'gateway' | 'store' = 'gateway',
): Log {
  const rates = new Map<string, LineRate>();
  const rateOf = (source: LineSource, level: LineLevel) => {
    const key = `${level} ${source.kind} ${source.name}`;
    const rate =
      rates.get(key) ??
      new LineRate(MAX_PER_SECOND, (text) => lines.add({ ...source, level, from: 'gateway', text }));
    rates.set(key, rate);
    deleteOldest(rates, MAX_RATES);
    return rate;
  };
  const store = (level: LineLevel, fields: object, message: string) => {
    // Stderr lines are stored by their reader.
    if ((fields as { readonly stream?: unknown }).stream === 'stderr') return;
    const source = sourceIn(fields) ?? { kind: writer, name: '' };
    rateOf(source, level).offer(() =>
      displayLine(Buffer.from(textOf(fields, message, source.kind)), MAX_CHARS, redactor, false),
    );
  };
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => {
      log.info(fields, message);
      store('info', fields, message);
    },
    warn: (fields, message) => {
      log.warn(fields, message);
      store('warn', fields, message);
    },
    error: (fields, message) => {
      log.error(fields, message);
      store('error', fields, message);
    },
  };
}

/** Returns the source in the fields; undefined without one. */
function sourceIn(fields: object): LineSource | undefined {
  for (const kind of namedKinds) {
    const name = (fields as Readonly<Record<string, unknown>>)[kind];
    if (typeof name === 'string') return { kind, name: name.slice(0, MAX_NAME) };
  }
  return undefined;
}

/** Returns the line, such as `server failed: the process exited with code 3 (code=ERR_START_FAILED)`. */
function textOf(fields: object, message: string, kind: LineSource['kind']): string {
  const { reason } = fields as { readonly reason?: unknown };
  const rest = Object.entries(fields).flatMap(([name, value]) =>
    name === kind || omittedFields.has(name) || value === undefined || value === null
      ? []
      : [`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`],
  );
  const summary = typeof reason === 'string' ? `${message}: ${reason}` : message;
  return `${summary}${rest.length === 0 ? '' : ` (${rest.join(', ')})`}`.replace(/\s*[\r\n]+\s*/g, ' ');
}
