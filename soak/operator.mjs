// Somebody who operates the gateway: pauses triggers and lets them go on, replays and discards deliveries, looks at lists.
// What was discarded or replayed is written down, since it explains what is seen elsewhere.

import { setTimeout as sleep } from 'node:timers/promises';

const REQUEST_MS = 20_000;

export class Operator {
  discarded = new Set();
  #url;
  #journal;
  #chance;
  #signal;
  #agents;
  #paused = new Set();

  constructor({ url, journal, chance, signal, agents }) {
    this.#url = url;
    this.#journal = journal;
    this.#chance = chance;
    this.#signal = signal;
    this.#agents = agents;
  }

  async run() {
    while (!this.#signal.aborted) {
      await this.#pause(this.#chance.between(300, 3_000));
      const act = this.#chance.weighted([
        [3, () => this.#pauseTrigger()],
        [4, () => this.resumeAll()],
        [3, () => this.#replay()],
        [3, () => this.#discard()],
        [2, () => this.ask(`/deliveries?limit=200&state=${this.#chance.one(['done', 'dead', 'queued'])}`)],
        [1, () => this.ask('/stats')],
        [1, () => this.ask('/servers')],
      ]);
      await act();
    }
  }

  async #pauseTrigger() {
    const name = this.#chance.one(['orders', 'shaky', 'repository', 'hand']);
    // Written down before: it may be carried out although its answer is lost.
    this.#paused.add(name);
    if ((await this.ask(`/triggers/${name}/pause`, 'POST')) !== undefined) this.#journal.count('pauses');
  }

  /** Resolves with whether none is paused any more. */
  async resumeAll() {
    for (const name of [...this.#paused])
      if ((await this.ask(`/triggers/${name}/resume`, 'POST')) !== undefined) this.#paused.delete(name);
    return this.#paused.size === 0;
  }

  async #replay() {
    const delivery = await this.#someDelivery('done,dead');
    if (delivery === undefined) return;
    this.#agents.expectAgain(delivery.id);
    if ((await this.ask(`/deliveries/${encodeURIComponent(delivery.id)}/replay`, 'POST')) !== undefined)
      this.#journal.count('replays');
  }

  async #discard() {
    const delivery = await this.#someDelivery('queued,retrying,held,dead');
    if (delivery === undefined) return;
    // Before, like a pause.
    this.discarded.add(delivery.id);
    if ((await this.ask(`/deliveries/${encodeURIComponent(delivery.id)}/discard`, 'POST')) !== undefined)
      this.#journal.count('discards');
  }

  async #someDelivery(states) {
    const page = await this.ask(`/deliveries?limit=50&state=${states}`);
    const { deliveries = [] } = page ?? {};
    // Comments are not made twice or left out on purpose.
    const of = deliveries.filter(({ conversation }) => conversation.startsWith('conversation/http/'));
    return of.length === 0 ? undefined : this.#chance.one(of);
  }

  /** What the gateway answers with 200, parsed; undefined for anything else. */
  async ask(path, method = 'GET') {
    const from = performance.now();
    try {
      const signal = AbortSignal.timeout(REQUEST_MS);
      const answer = await fetch(`${this.#url}${path}`, { method, signal });
      const text = await answer.text();
      if (answer.status === 200) return JSON.parse(text);
      if (answer.status === 500)
        this.#journal.violate('an operator is never answered 500', `${method} ${path}: ${text}`);
      return undefined;
    } catch {
      if (performance.now() - from >= REQUEST_MS && this.#journal.wasCalm(from))
        this.#journal.violate('an operator is answered', `${method} ${path}`);
      return undefined;
    }
  }

  #pause(ms) {
    return sleep(ms, undefined, { signal: this.#signal }).catch(() => {});
  }
}
