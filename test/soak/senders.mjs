// Event senders of the soak: signed webhooks (in order per conversation, with retries, some duplicated), a
// repository host, manual runs, forged and incomplete requests. Acknowledged events are recorded for the
// final checks.

import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { GatewayUser } from './gateway-user.mjs';
import { REPOSITORIES, SECRET } from './world.mjs';

const CONVERSATIONS = 12;
/** Statuses that temporarily refuse an event. */
const REFUSED_FOR_NOW = new Set([408, 429, 503]);

export class Senders extends GatewayUser {
  /** Kind of sender by id of the acknowledged delivery. */
  acknowledged = new Map();
  #count = 0;

  /** Runs all senders; returns after `signal` is aborted. */
  run() {
    const each = (name) =>
      Array.from({ length: CONVERSATIONS }, (_, at) => this.#converse(name, `${name}-${at}`));
    return Promise.all([
      ...each('orders'),
      ...each('shaky'),
      this.#crowd(),
      this.#repository(),
      this.#hand(),
      this.#forge(),
      ...Array.from({ length: 4 }, (_, at) => this.#sendHalf(`half-${at}`)),
    ]);
  }

  /**
   * Sends a conversation's events in order. The next event is sent when the previous is acknowledged.
   */
  async #converse(name, c) {
    const chance = this.chanceOf(`sender ${c}`);
    for (let n = 1; !this.isOver; n += 1) {
      await this.#hook(name, { c, n, filler: 'x'.repeat(this.#size(chance)) }, `${c}-${n}`);
      if (chance.is(0.05)) await this.#hook(name, { c, n }, `${c}-${n}`);
      await this.pause(chance.between(50, 900));
    }
  }

  /** Returns the size of an event: usually small, sometimes large. */
  #size(chance) {
    return chance.weighted([
      [1_000, chance.between(0, 500)],
      [20, chance.between(500, 50_000)],
      [1, chance.between(50_000, 3_000_000)],
    ]);
  }

  /** Sends hundreds of conversations to the agent that does not answer, with pauses. */
  async #crowd() {
    const chance = this.chanceOf('crowd');
    for (let crowd = 1; !this.isOver; crowd += 1) {
      await this.pause(chance.between(5_000, 30_000));
      const size = chance.between(20, 300);
      for (let at = 0; at < size && !this.isOver; at += 1)
        await this.#hook('stuck', { c: `stuck-${crowd}-${at}`, n: 1 }, `stuck-${crowd}-${at}`);
    }
  }

  async #repository() {
    const chance = this.chanceOf('repository');
    while (!this.isOver) {
      const number = chance.between(1, 20);
      const guid = `guid-${++this.#count}`;
      const payload = {
        action: 'opened',
        issue: { number, title: 'Something', body: guid, user: { login: 'ada' } },
        repository: { full_name: chance.one(REPOSITORIES) },
        sender: { login: 'ada' },
      };
      const headers = { 'x-github-event': 'issues', 'x-github-delivery': guid };
      await this.#post('/webhook/repohost', payload, headers, 'repository');
      if (chance.is(0.1)) await this.#post('/webhook/repohost', payload, headers, 'repository');
      await this.pause(chance.between(3_000, 6_000));
    }
  }

  async #hand() {
    const chance = this.chanceOf('hand');
    while (!this.isOver) {
      await this.pause(chance.between(2_000, 8_000));
      const body = JSON.stringify({ text: 'by hand' });
      const headers = { 'content-type': 'application/json' };
      const answer = await this.askAsOperator('/triggers/hand/run', { body, headers });
      if (answer?.status === 200) this.acknowledged.set(answer.values[0]?.id, 'hand');
    }
  }

  /** Sends requests without the secret. */
  async #forge() {
    const chance = this.chanceOf('forger');
    while (!this.isOver) {
      await this.pause(chance.between(500, 3_000));
      const body = JSON.stringify({ c: 'forged', n: 1, filler: 'x'.repeat(this.#size(chance)) });
      const headers = {
        'content-type': 'application/json',
        'x-hub-signature-256': `sha256=${'0'.repeat(64)}`,
      };
      const answer = await this.ask('/hooks/orders', { method: 'POST', body, headers });
      if (answer !== undefined && answer.status < 400)
        this.journal.violate('an unsigned event is rejected', String(answer.status));
    }
  }

  /** Sends an incomplete large event, and disconnects. */
  async #sendHalf(name) {
    const chance = this.chanceOf(name);
    const { hostname, port } = new URL(this.url);
    while (!this.isOver) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      const head = [
        'POST /hooks/orders HTTP/1.1',
        `Host: ${hostname}:${port}`,
        'Content-Type: application/json',
        `X-Hub-Signature-256: sha256=${'0'.repeat(64)}`,
        'Content-Length: 8000000',
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n{"c":"half","filler":"${'x'.repeat(this.#size(chance))}`);
      await this.pause(chance.between(1_000, 40_000));
      socket.destroy();
      await this.pause(chance.between(500, 3_000));
    }
  }

  #hook(name, payload, key) {
    return this.#post(`/hooks/${name}`, payload, { 'idempotency-key': key }, name);
  }

  /** Repeats an event until acknowledgement. */
  async #post(path, payload, headers, sort) {
    const body = JSON.stringify(payload);
    const signature = `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`;
    const all = { 'content-type': 'application/json', 'x-hub-signature-256': signature, ...headers };
    for (;;) {
      const answer = await this.ask(path, { method: 'POST', body, headers: all });
      if (answer?.status === 200 || answer?.status === 202) {
        this.journal.count(`acknowledged: ${sort}`);
        this.acknowledged.set(answer.values[0]?.id, sort);
        return;
      }
      if (answer !== undefined && !REFUSED_FOR_NOW.has(answer.status)) {
        this.journal.violate(
          'a valid event is accepted, or temporarily refused',
          `${path}: ${answer.status} ${answer.text}`,
        );
        return;
      }
      if (this.isOver) return;
      await this.pause(200);
    }
  }
}
