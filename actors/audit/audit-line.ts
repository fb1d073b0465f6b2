// A line of the audit, as JSON text. Names come from clients, so they are truncated and redacted. Equal names
// of many lines are converted once.

import { REDACTION_MARK, type Redactor } from '../base/errors/redact.ts';
import { type ChainLink, linkText } from './chain.ts';
import { argumentsJson } from './recorded-arguments.ts';

/** A decision on a call or an operation. */
export interface AuditEntry {
  readonly tenant?: string | null | undefined;
  readonly principal: string;
  readonly role?: string | null | undefined;
  /** Method of the protocol, or name of an operation. */
  readonly action: string;
  readonly target?: string | null | undefined;
  readonly outcome: string;
  /** HTTP status of the response; null for other transports. */
  readonly status?: number | null | undefined;
  readonly ms?: number | undefined;
  readonly requestId?: string | undefined;
  readonly traceparent?: string | undefined;
  /** Number of omitted lines, refused requests or removed bytes. */
  readonly count?: number | undefined;
  /** Arguments of a call, as raw JSON. */
  readonly rawArguments?: string | undefined;
  /** Predecessor of the first line of a file. */
  readonly previous?: ChainLink | undefined;
}

/** Maximum length of a name, in characters. */
const MAX_CHARS = 500;
/** Number of converted names in memory. */
const MAX_NAMES = 4_096;

/** Keys of this gateway and JSON Web Tokens, which are no configured credentials. */
const TOKENS = /\bagk_\w{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g;

export interface LineFormatOptions {
  readonly node: string;
  readonly redactor: Pick<Redactor, 'redact' | 'patternCount'>;
}

export class LineFormat {
  readonly #redactor: LineFormatOptions['redactor'];
  readonly #node: string;
  readonly #names = new Map<string, string>();
  #patternCount = 0;
  #at = 0;
  #time = '';

  constructor({ node, redactor }: LineFormatOptions) {
    this.#redactor = redactor;
    this.#node = JSON.stringify(node);
  }

  /** Returns the line without the member `chain` and the closing brace. */
  body(entry: AuditEntry): string {
    const { outcome, status = null, ms = 0, requestId, traceparent } = entry;
    const { count, rawArguments, previous } = entry;
    const trace = traceparent === undefined ? 'null' : JSON.stringify(traceparent.slice(3, 35));
    return (
      `{"time":"${this.#now()}","node":${this.#node},"tenant":${this.#name(entry.tenant)},` +
      `"principal":${this.#name(entry.principal)},"role":${this.#name(entry.role)},` +
      `"action":${this.#name(entry.action)},"target":${this.#name(entry.target)},` +
      `"outcome":${this.#name(outcome)},"status":${status},"ms":${Math.round(ms * 1000) / 1000},` +
      `"request_id":${requestId === undefined ? 'null' : this.#json(requestId)},"trace_id":${trace}` +
      (count === undefined ? '' : `,"count":${count}`) +
      (rawArguments === undefined ? '' : `,"arguments":${argumentsJson(rawArguments, this.#redact)}`) +
      (previous === undefined ? '' : `,"previous":"${linkText(previous)}"`)
    );
  }

  /** Returns the time. Converting it costs more than the rest of a line, so it is converted once per ms. */
  #now(): string {
    const now = Date.now();
    if (now !== this.#at || this.#time === '') {
      this.#at = now;
      this.#time = new Date(now).toISOString();
    }
    return this.#time;
  }

  #name(text: string | null | undefined): string {
    if (text === null || text === undefined) return 'null';
    const known = this.#names.get(text);
    if (known !== undefined && this.#patternCount === this.#redactor.patternCount) return known;
    if (this.#patternCount !== this.#redactor.patternCount || this.#names.size >= MAX_NAMES)
      this.#names.clear();
    this.#patternCount = this.#redactor.patternCount;
    const json = this.#json(text);
    if (text.length <= MAX_CHARS) this.#names.set(text, json);
    return json;
  }

  #json(text: string): string {
    const redacted = this.#redact(text);
    return JSON.stringify(redacted.length > MAX_CHARS ? `${redacted.slice(0, MAX_CHARS)}…` : redacted);
  }

  readonly #redact = (text: string): string => this.#redactor.redact(text).replace(TOKENS, REDACTION_MARK);
}
