// Base class of all HTTP clients of the soak. They run until `signal` is aborted.
//
// Detects these violations: a missing response without a disturbance of the gateway, an unreadable response,
// and an internal error.

import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Timeout, longer than the slowest response: a server timeout, a server start, and a loaded machine. */
const ANSWER_MS = 60_000;
/** JSON-RPC code for internal errors. No server of the soak returns it. */
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

  /**
   * Sends a request. Returns status, headers, text and parsed JSON (`values`: one value, or all messages of a
   * stream); undefined if there is no response.
   */
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
      this.journal.violate('a response is readable', `${request}: ${error.message}: ${beginning}`);
    }
    if (status === 500 || values.some((value) => value?.error?.code === INTERNAL_ERROR))
      this.journal.violate('no response reports an internal error', `${request}: ${status} ${beginning}`);
    return { ...answer, values };
  }

  /** Same with the operator token, read for each request because a restart can change it. */
  async askAsOperator(path, init = {}) {
    const token = await readFile(this.#tokenFile, 'utf8').catch(() => '');
    const headers = { ...init.headers, authorization: `Bearer ${token.trim()}` };
    return this.ask(path, { ...init, method: 'POST', headers });
  }

  /** Resolves after this time, or when `signal` is aborted. */
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
