// Those who send events: signed webhooks in the order of their conversations, each until it is acknowledged, some of them
// twice; a repository host; somebody who runs a trigger by hand; forgers, and some who never end what they send. What was
// acknowledged is written down for the end.

import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { GatewayUser } from './gateway-user.mjs';
import { REPOSITORIES, SECRET } from './world.mjs';

const CONVERSATIONS = 12;
/** What a gateway may say that cannot take an event now. */
const REFUSED_FOR_NOW = new Set([408, 429, 503]);

export class Senders extends GatewayUser {
  /** Ids of deliveries that were acknowledged, and what sort they are of. */
  acknowledged = new Map();
  #count = 0;

  /** Everybody sends, until the signal. */
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

  /** One conversation: its events in order, each acknowledged before the next is sent. */
  async #converse(name, c) {
    const chance = this.chanceOf(`sender ${c}`);
    for (let n = 1; !this.isOver; n += 1) {
      await this.#hook(name, { c, n, filler: 'x'.repeat(this.#size(chance)) }, `${c}-${n}`);
      if (chance.is(0.05)) await this.#hook(name, { c, n }, `${c}-${n}`);
      await this.pause(chance.between(50, 900));
    }
  }

  /** Most events are small, and few large. */
  #size(chance) {
    return chance.weighted([
      [1_000, chance.between(0, 500)],
      [20, chance.between(500, 50_000)],
      [1, chance.between(50_000, 3_000_000)],
    ]);
  }

  /** At times hundreds of conversations at once for an agent that does not answer. */
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

  /** Somebody without the secret. */
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
        this.journal.violate('what is not signed is refused', String(answer.status));
    }
  }

  /** Begins a large event, and leaves before its end. */
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

  /** Posts until it is acknowledged. */
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
          'a good event is taken, or refused for now',
          `${path}: ${answer.status} ${answer.text}`,
        );
        return;
      }
      if (this.isOver) return;
      await this.pause(200);
    }
  }
}
