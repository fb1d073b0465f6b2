// The gateway's log, of which what is about one server is kept with the lines of that server: that it was started, has failed, is parked,
// or that a call of it failed. So they can be read in one order. The log itself has them as before, by its own level.
//
// KLG1 (A6, A8)  of each server a hundred such lines a second are kept, then a count of those left out.

import { forgetOldest } from '../../../base/bounds/forget-oldest.ts';
import type { Log } from '../../../base/errors/log.ts';
import type { Redactor } from '../../../base/errors/redact.ts';
import { LineRate } from '../../links/stdio/line-rate.ts';
import { shownLine } from '../../links/stdio/shown-line.ts';
import type { LineLevel } from './line-level.ts';
import type { RecentLines } from './recent-lines.ts';

const KEPT_PER_SECOND = 100;
const MAX_CHARS = 500;
/** Those of servers whose lines came last. */
const MAX_RATES = 1_000;

/** Of no use to whoever reads one line: they stand in the log. */
const leftOut = new Set(['server', 'reason', 'traceparent', 'request_id']);

/** What is logged at `debug` is not kept: it may come with each call. */
export function keptLog(log: Log, lines: RecentLines, redactor: Redactor): Log {
  const rates = new Map<string, LineRate>();
  const rateOf = (server: string, level: LineLevel) => {
    const key = `${level} ${server}`;
    const rate =
      rates.get(key) ??
      new LineRate(KEPT_PER_SECOND, (text) => lines.add({ server, level, from: 'gateway', text }));
    rates.set(key, rate);
    forgetOldest(rates, MAX_RATES);
    return rate;
  };
  const keep = (level: LineLevel, fields: object, message: string) => {
    const { server, stream } = fields as { readonly server?: unknown; readonly stream?: unknown };
    // What came on stderr is kept where it was read.
    if (typeof server !== 'string' || stream === 'stderr') return;
    rateOf(server, level).offer(() =>
      shownLine(Buffer.from(textOf(fields, message)), MAX_CHARS, redactor, false),
    );
  };
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => {
      log.info(fields, message);
      keep('info', fields, message);
    },
    warn: (fields, message) => {
      log.warn(fields, message);
      keep('warn', fields, message);
    },
    error: (fields, message) => {
      log.error(fields, message);
      keep('error', fields, message);
    },
  };
}

/** `server failed: the process exited with code 3 (code=ERR_START_FAILED)`. */
function textOf(fields: object, message: string): string {
  const { reason } = fields as { readonly reason?: unknown };
  const rest = Object.entries(fields).flatMap(([name, value]) =>
    leftOut.has(name) || value === undefined || value === null
      ? []
      : [`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`],
  );
  const said = typeof reason === 'string' ? `${message}: ${reason}` : message;
  return `${said}${rest.length === 0 ? '' : ` (${rest.join(', ')})`}`.replace(/\s*[\r\n]+\s*/g, ' ');
}
