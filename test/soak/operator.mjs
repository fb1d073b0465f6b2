// Operator of the soak: pauses and resumes triggers, replays and discards deliveries, reads lists. Replays
// and discards are recorded for the final checks.

import { GatewayUser } from './gateway-user.mjs';

export class Operator extends GatewayUser {
  discarded = new Set();
  #chance;
  #agents;
  #paused = new Set();

  constructor({ agents, ...user }) {
    super(user);
    this.#chance = user.chanceOf('operator');
    this.#agents = agents;
  }

  async run() {
    while (!this.isOver) {
      await this.pause(this.#chance.between(300, 3_000));
      const act = this.#chance.weighted([
        [3, () => this.#pauseTrigger()],
        [4, () => this.resumeAll()],
        [3, () => this.#replay()],
        [3, () => this.#discard()],
        [2, () => this.get(`/deliveries?limit=200&state=${this.#chance.one(['done', 'dead', 'queued'])}`)],
        [1, () => this.get('/stats')],
        [1, () => this.get('/servers')],
      ]);
      await act();
    }
  }

  async #pauseTrigger() {
    const name = this.#chance.one(['orders', 'shaky', 'repository', 'hand']);
    // Recorded first, because the response may be lost.
    this.#paused.add(name);
    if ((await this.post(`/triggers/${name}/pause`)) !== undefined) this.journal.count('pauses');
  }

  /** Resumes all paused triggers. Resolves with true if all were resumed. */
  async resumeAll() {
    for (const name of [...this.#paused])
      if ((await this.post(`/triggers/${name}/resume`)) !== undefined) this.#paused.delete(name);
    return this.#paused.size === 0;
  }

  async #replay() {
    const delivery = await this.#someDelivery('done,dead');
    if (delivery === undefined) return;
    this.#agents.expectAgain(delivery.id);
    if ((await this.post(`/deliveries/${encodeURIComponent(delivery.id)}/replay`)) !== undefined)
      this.journal.count('replays');
  }

  async #discard() {
    const delivery = await this.#someDelivery('queued,retrying,held,dead');
    if (delivery === undefined) return;
    // Recorded first, because the response may be lost.
    this.discarded.add(delivery.id);
    if ((await this.post(`/deliveries/${encodeURIComponent(delivery.id)}/discard`)) !== undefined)
      this.journal.count('discards');
  }

  async #someDelivery(states) {
    const page = await this.get(`/deliveries?limit=50&state=${states}`);
    const { deliveries = [] } = page ?? {};
    // Events of the repository are excluded, because a replay would write a second comment.
    const of = deliveries.filter(({ conversation }) => conversation.startsWith('conversation/http/'));
    return of.length === 0 ? undefined : this.#chance.one(of);
  }

  /** Returns the parsed body of a response with status 200, otherwise undefined. */
  async get(path) {
    return this.#valueOf(await this.ask(path));
  }

  async post(path) {
    return this.#valueOf(await this.askAsOperator(path));
  }

  #valueOf(answer) {
    return answer?.status === 200 ? answer.values[0] : undefined;
  }
}
