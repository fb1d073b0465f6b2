// Whoever uses the gateway over HTTP, until the signal. What holds for all of them is looked at here: every request is
// answered, unless something was done to the gateway, what it answers can be read, and it is never a fault of its own.

import { setTimeout as sleep } from 'node:timers/promises';

/** Beyond the longest that anything asked here may take: a server's own time, a start, and a loaded machine. */
const ANSWER_MS = 60_000;

export class GatewayUser {
  url;
  journal;
  chanceOf;
  signal;

  constructor({ url, journal, chanceOf, signal }) {
    this.url = url;
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
    if (status === 500) this.journal.violate('nobody is answered 500', `${request}: ${text.slice(0, 300)}`);
    try {
      return { ...answer, values: valuesIn(answer) };
    } catch (error) {
      this.journal.violate('an answer can be read', `${request}: ${error.message}: ${text.slice(0, 300)}`);
      return { ...answer, values: [] };
    }
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
