// The head of an answer over HTTP/1.1: status line and headers, and what they say of the body that follows.

/** The answer is none of HTTP. Its code is of the family that Node's parser has for that. */
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
  readonly #isOld: boolean;
  /** Names in lower case, and values, in turn: there are few, and fewer are asked for. */
  readonly #fields: string[] = [];

  /** `text` is all up to the empty line, byte for byte. Throws HttpFault. */
  constructor(text: string) {
    const lineEnd = text.indexOf('\r\n');
    const line = statusLine.exec(lineEnd === -1 ? text : text.slice(0, lineEnd));
    if (line === null) throw new HttpFault('its answer has no status line');
    this.#isOld = line[1] === '0';
    this.status = Number(line[2]);
    this.reason = line[3] ?? '';
    if (this.#isOld && this.status < 200)
      throw new HttpFault('it sent an interim answer of HTTP/1.0, which has none');
    if (this.status === 101) throw new HttpFault('it changed the protocol, which nobody asked for');
    for (let at = lineEnd + 2; lineEnd !== -1 && at <= text.length; ) {
      const found = text.indexOf('\r\n', at);
      const end = found === -1 ? text.length : found;
      this.#add(text.slice(at, end));
      at = end + 2;
    }
  }

  /** The value of a header, which is named in lower case; of a repeated one all values, joined. */
  header(name: string): string | undefined {
    let value: string | undefined;
    for (let at = 0; at < this.#fields.length; at += 2)
      if (this.#fields[at] === name)
        value = value === undefined ? this.#fields[at + 1] : `${value}, ${this.#fields[at + 1]}`;
    return value;
  }

  /** Whether the connection may carry another request. */
  get keepsConnection(): boolean {
    // A body that is announced where none may be: nobody knows whether it comes.
    if (this.#isBodiless && this.#announcesBody) return false;
    const options = this.header('connection')?.toLowerCase() ?? '';
    const isNamed = (option: string): boolean => options.split(',').some((each) => each.trim() === option);
    if (options === 'keep-alive') return true;
    if (options === '') return !this.#isOld;
    return !isNamed('close') && (!this.#isOld || isNamed('keep-alive'));
  }

  /** How the body is framed, in the order of RFC 9112, section 6.3. Throws HttpFault for what says it in two ways. */
  get bodyBytes(): number | 'chunked' | 'untilClose' {
    const coding = this.header('transfer-encoding');
    const length = this.header('content-length');
    if (coding !== undefined) {
      if (length !== undefined || this.#isOld || coding.toLowerCase() !== 'chunked')
        throw new HttpFault('its answer has a framing that is not understood');
      return this.#isBodiless ? 0 : 'chunked';
    }
    if (length !== undefined && !/^\d{1,15}$/.test(length))
      throw new HttpFault('its answer has a length that is none');
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
      throw new HttpFault('a line in the head of its answer is no header');
    this.#fields.push(name.toLowerCase(), value);
  }
}

/** The text from `from` on, without blanks around it; nearly always one, at the beginning. */
function withoutBlanks(text: string, from: number): string {
  let start = from;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
