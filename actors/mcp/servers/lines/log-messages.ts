// What a server sends its clients as log messages (`notifications/message`), as lines for whoever looks after it. It goes to the clients
// as it came; here it is one line of plain text without secrets (A9).
//
// LGM1 (A6, A8)  a hundred a second are kept of one server, then a count of those left out; of each a bounded part is read.

import type { Redactor } from '../../../base/errors/redact.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { LineRate } from '../../links/stdio/line-rate.ts';
import { bytesToKeep, shownLine } from '../../links/stdio/shown-line.ts';
import { type LineLevel, levelNamed } from './line-level.ts';

const KEPT_PER_SECOND = 100;
const MAX_CHARS = 500;
/** Beyond that the JSON is shown as it stands. */
const MAX_PARSED_BYTES = 16 * 1024;

export class LogMessages {
  readonly #redactor: Redactor;
  readonly #rate: LineRate;
  /** Of the line that is being kept; a count of what was left out may stand for anything. */
  #level: LineLevel = 'warn';

  constructor(redactor: Redactor, keep: (level: LineLevel, text: string) => void) {
    this.#redactor = redactor;
    this.#rate = new LineRate(KEPT_PER_SECOND, (text) => {
      const level = this.#level;
      this.#level = 'warn';
      keep(level, text);
    });
  }

  /** Takes a `notifications/message`. */
  take(envelope: Envelope): void {
    this.#rate.offer(() => {
      this.#level = levelNamed(envelope.paramText('level') ?? '') ?? 'info';
      return this.#textOf(envelope);
    });
  }

  #textOf(envelope: Envelope): string {
    const { params, bytes } = envelope;
    if (params === undefined) return '';
    const isLarge = params.end - params.start > MAX_PARSED_BYTES;
    const most = params.start + bytesToKeep(MAX_CHARS, this.#redactor);
    const raw = isLarge
      ? bytes.subarray(params.start, Math.min(params.end, most))
      : Buffer.from(saidIn(envelope.parse(params)));
    return shownLine(raw, MAX_CHARS, this.#redactor, isLarge);
  }
}

/** `logger: text`; what is no text is JSON. */
function saidIn(params: unknown): string {
  const { logger, data } = params as { readonly logger?: unknown; readonly data?: unknown };
  const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
  const said = text.trim().replace(/\s*[\r\n]+\s*/g, ' ');
  return typeof logger === 'string' && logger !== '' ? `${logger}: ${said}` : said;
}
