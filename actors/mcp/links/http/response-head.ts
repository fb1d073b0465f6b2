// Head of an HTTP/1.1 response: status line, headers, and the framing of the body.

import type { HeaderValues } from '../../../../libs/rest/retry-after.ts';

const SPACE = 0x20;
const TAB = 0x09;

/** Invalid HTTP response. The codes are the same as in Node's own parser. */
export class HttpFault extends Error {
  readonly code: string;

  constructor(message: string, code = 'HPE_INVALID_CONSTANT') {
    super(message);
    this.code = code;
  }
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t -~\x80-\xff]*))?$/;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const fieldValue = /^[\t -~\x80-\xff]*$/;

export class ResponseHead {
  readonly status: number;
  readonly reason: string;
  /** True for HTTP/1.0. */
  readonly #isOld: boolean;
  /** Lower-case names and values, alternating. Faster than a Map for few headers. */
  readonly #fields: string[] = [];

  /** `text` is everything before the empty line, as latin1: one character per byte. Throws HttpFault. */
  constructor(text: string) {
    const lineEnd = text.indexOf('\r\n');
    const line = statusLine.exec(lineEnd === -1 ? text : text.slice(0, lineEnd));
    if (line === null) throw new HttpFault('the response has no status line');
    this.#isOld = line[1] === '0';
    this.status = Number(line[2]);
    this.reason = line[3] ?? '';
    if (this.#isOld && this.status < 200) throw new HttpFault('interim responses do not exist in HTTP/1.0');
    if (this.status === 101)
      throw new HttpFault('the response changes the protocol, which was not requested');
    for (let at = lineEnd + 2; lineEnd !== -1 && at <= text.length; ) {
      const lineBreak = text.indexOf('\r\n', at);
      const end = lineBreak === -1 ? text.length : lineBreak;
      this.#add(text.slice(at, end));
      at = end + 2;
    }
  }

  /** Returns a header value (lower-case name); repeated values are joined. */
  header(name: string): string | undefined {
    let value: string | undefined;
    for (let at = 0; at < this.#fields.length; at += 2)
      if (this.#fields[at] === name)
        value = value === undefined ? this.#fields[at + 1] : `${value}, ${this.#fields[at + 1]}`;
    return value;
  }

  /** The headers in the form of fetch. */
  get headers(): HeaderValues {
    return { get: (name) => this.header(name) ?? null };
  }

  /** Returns all values for a repeated header (lower-case name). */
  all(name: string): string[] {
    return this.#fields.filter((_, at) => at % 2 === 1 && this.#fields[at - 1] === name);
  }

  /** True if the connection can carry another request. */
  get keepsConnection(): boolean {
    // The status forbids a body, but the headers declare one, which may or may not follow.
    if (this.#isBodiless && this.#announcesBody) return false;
    const options = this.header('connection')?.toLowerCase() ?? '';
    const isNamed = (option: string): boolean => options.split(',').some((each) => each.trim() === option);
    if (options === 'keep-alive') return true;
    if (options === '') return !this.#isOld;
    return !isNamed('close') && (!this.#isOld || isNamed('keep-alive'));
  }

  /** Framing of the body, in the order of RFC 9112, section 6.3. Throws HttpFault if it is ambiguous. */
  get bodyBytes(): number | 'chunked' | 'untilClose' {
    const coding = this.header('transfer-encoding');
    const length = this.header('content-length');
    if (coding !== undefined) {
      if (length !== undefined || this.#isOld || coding.toLowerCase() !== 'chunked')
        throw new HttpFault('the response has an ambiguous or unknown framing');
      return this.#isBodiless ? 0 : 'chunked';
    }
    if (length !== undefined && !/^\d{1,15}$/.test(length))
      throw new HttpFault('the response has an invalid content length');
    if (this.#isBodiless) return 0;
    return length === undefined ? 'untilClose' : Number(length);
  }

  get #isBodiless(): boolean {
    return this.status === 204 || this.status === 304;
  }

  get #announcesBody(): boolean {
    return this.header('transfer-encoding') !== undefined || Number(this.header('content-length') ?? 0) > 0;
  }

  #add(line: string): void {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon));
    const value = withoutBlanks(line, colon + 1);
    if (!token.test(name) || !fieldValue.test(value))
      throw new HttpFault('a line in the head of the response is not a header');
    this.#fields.push(name.toLowerCase(), value);
  }
}

/** Trims blanks from `from` on; usually there is a single leading blank. */
function withoutBlanks(text: string, from: number): string {
  let start = from;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}
