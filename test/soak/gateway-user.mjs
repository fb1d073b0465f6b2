// Whoever uses the gateway over HTTP, until the signal.
//
// Seen here: a request that is not answered although nothing was done to the gateway, an answer that cannot be read, and one
// that tells of a fault of the gateway.

import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Beyond the longest that anything asked here may take: a server's own time, a start, and a loaded machine. */
const ANSWER_MS = 60_000;
/** In an answer of JSON-RPC what the status 500 is in one of HTTP; no server of the soak says it. */
const INTERNAL_ERROR = -32603;

export class GatewayUser {
  url;
  journal;
  chanceOf;
  signal;
  #tokenFile;

  /** `tokenFile` contains the operator token. */
  constructor({ url, tokenFile, journal, chanceOf, signal }) {
    this.url = url;
    this.#tokenFile = tokenFile;
    this.journal = journal;
    this.chanceOf = chanceOf;
    this.signal = signal;
  }

  get isOver() {
    return this.signal.aborted;
  }

  /** The answer, its text, and the JSON in it: one value, or each message of a stream. Undefined when there was none. */
  async ask(path, init = {}) {
    const from = performance.now();
    const request = `${init.method ?? 'GET'} ${path}`;
    const answer = await this.#fetch(path, init);
    if (answer === undefined) {
      if (performance.now() - from >= ANSWER_MS && this.journal.wasCalm(from))
        this.journal.violate('every request is answered', request);
      return undefined;
    }
    const { status, text } = answer;
    const beginning = text.slice(0, 300);
    let values = [];
    try {
      values = valuesIn(answer);
    } catch (error) {
      this.journal.violate('an answer can be read', `${request}: ${error.message}: ${beginning}`);
    }
    if (status === 500 || values.some((value) => value?.error?.code === INTERNAL_ERROR))
      this.journal.violate('no answer tells of a fault of the gateway', `${request}: ${status} ${beginning}`);
    return { ...answer, values };
  }

  /** The answer to the operator, as `ask` returns it. A restart can change the token. */
  async askAsOperator(path, init = {}) {
    const token = await readFile(this.#tokenFile, 'utf8').catch(() => '');
    const headers = { ...init.headers, authorization: `Bearer ${token.trim()}` };
    return this.ask(path, { ...init, method: 'POST', headers });
  }

  /** Waits, or until the signal. */
  pause(ms) {
    return sleep(ms, undefined, { signal: this.signal }).catch(() => {});
  }

  async #fetch(path, init) {
    try {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const answer = await fetch(`${this.url}${path}`, { ...init, signal });
      return { status: answer.status, headers: answer.headers, text: await answer.text() };
    } catch {
      return undefined;
    }
  }
}

function valuesIn({ headers, text }) {
  const type = headers.get('content-type') ?? '';
  if (type.startsWith('application/json') && text !== '') return [JSON.parse(text)];
  const data = text.split('\n').filter((line) => line.startsWith('data: {'));
  return data.map((line) => JSON.parse(line.slice('data: '.length)));
}
