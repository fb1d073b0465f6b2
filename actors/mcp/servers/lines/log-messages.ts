// Converts log messages of servers (`notifications/message`) to lines of plain text without secrets (A9,
// ARCHITECTURE.md), for operators. Clients receive the original message. Per server and second MAX_PER_SECOND
// messages are stored, then the number of omitted ones. Only a bounded part of each message is read (A6, A8).

import type { Redactor } from '../../../base/errors/redact.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { bytesToKeep, displayLine } from '../../links/stdio/display-line.ts';
import { LineRate } from '../../links/stdio/line-rate.ts';
import { type LineLevel, levelByName } from './level.ts';

const MAX_PER_SECOND = 100;
const MAX_CHARS = 500;
/** Larger parameters are not parsed but shown as raw JSON. */
const MAX_PARSED_BYTES = 16 * 1024;

export class LogMessages {
  readonly #redactor: Redactor;
  readonly #rate: LineRate;
  /** Level of the next stored line. The line with the number of omitted messages has level `warn`. */
  #level: LineLevel = 'warn';

  constructor(redactor: Redactor, store: (level: LineLevel, text: string) => void) {
    this.#redactor = redactor;
    this.#rate = new LineRate(MAX_PER_SECOND, (text) => {
      const level = this.#level;
      this.#level = 'warn';
      store(level, text);
    });
  }

  /** Accepts a `notifications/message`. */
  accept(envelope: Envelope): void {
    this.#rate.offer(() => {
      this.#level = levelByName(envelope.paramText('level') ?? '') ?? 'info';
      return this.#textOf(envelope);
    });
  }

  #textOf(envelope: Envelope): string {
    const { params, bytes } = envelope;
    if (params === undefined) return '';
    const isLarge = params.end - params.start > MAX_PARSED_BYTES;
    const cutEnd = params.start + bytesToKeep(MAX_CHARS, this.#redactor);
    const raw = isLarge
      ? bytes.subarray(params.start, Math.min(params.end, cutEnd))
      : Buffer.from(messageText(envelope.parse(params)));
    return displayLine(raw, MAX_CHARS, this.#redactor, isLarge);
  }
}

/** Returns `logger: text`; data other than text as JSON. */
function messageText(params: unknown): string {
  const { logger, data } = params as { readonly logger?: unknown; readonly data?: unknown };
  const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
  const line = text.trim().replace(/\s*[\r\n]+\s*/g, ' ');
  return typeof logger === 'string' && logger !== '' ? `${logger}: ${line}` : line;
}
