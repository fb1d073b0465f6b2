// The programs behind the agents: one that answers, one that often fails, one that never answers until the faults are over.
// They write down what they are asked.
//
// Seen here: two attempts at one conversation at the same time, first attempts out of order, and an event that is handed over
// again although its answer had arrived and nothing had happened to the gateway.

import { setTimeout as sleep } from 'node:timers/promises';
import { LoopbackServer } from './loopback-server.mjs';

/** A connection that the gateway has let go of is noticed here within this. */
const LETTING_GO_MS = 3_000;

export class Agents extends LoopbackServer {
  isHealed = false;
  /** By conversation: the numbers of its events in the order of their first attempts. */
  order = new Map();
  /** By the key of the event: when it was answered, in performance.now() milliseconds. */
  answered = new Map();
  /** performance.now() of when an instant of the schedule last came; and which it was, by the gateway's clock. */
  lastPulseAt = performance.now();
  lastInstant = 0;
  #journal;
  #chance;
  #life;
  /** By conversation: the requests that are open. */
  #open = new Map();
  #seen = new Set();
  #replayed = new Set();

  constructor({ journal, chance, life }) {
    super((request, response) => this.#onRequest(request, response));
    this.#journal = journal;
    this.#chance = chance;
    this.#life = life;
  }

  /** From now on everybody answers. */
  heal() {
    this.isHealed = true;
    for (const requests of this.#open.values()) for (const { response } of requests) response.destroy();
  }

  /** It may be handed over once more. */
  expectAgain(id) {
    this.#replayed.add(id);
  }

  async #onRequest(request, response) {
    const job = JSON.parse(await textOf(request));
    const key = String(request.headers['idempotency-key']);
    const asked = { key, response, life: this.#life(), at: performance.now() };
    this.#note(job, asked);
    response.once('close', () => this.#forget(job.conversation, asked));
    const text = await this.#answer(request.url, job, response);
    if (text === undefined || response.destroyed) return;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ text }), () => this.answered.set(key, performance.now()));
  }

  #note({ conversation, event }, asked) {
    const { key } = asked;
    this.#journal.count('attempts');
    const others = this.#open.get(conversation) ?? [];
    this.#open.set(conversation, [...others, asked]);
    for (const other of others) if (other.life === asked.life) void this.#watch(conversation, other, asked);
    if (key.startsWith('schedule:')) {
      this.lastPulseAt = performance.now();
      this.lastInstant = Date.parse(event.payload.at);
    }
    const answeredAt = this.answered.get(key);
    if (answeredAt !== undefined && !this.#replayed.delete(key) && this.#journal.wasCalm(answeredAt))
      this.#journal.violate('what was answered is not asked again without a reason', key);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const { n } = event.payload ?? {};
    if (typeof n !== 'number') return;
    const order = this.order.get(conversation) ?? [];
    this.order.set(conversation, order);
    if (n <= (order.at(-1) ?? 0))
      this.#journal.violate('events of a conversation come in order', `${key} after ${order.at(-1)}`);
    order.push(n);
  }

  /** A4, as far as it can be seen from here: the gateway has let go of the one before. */
  async #watch(conversation, before, after) {
    await sleep(LETTING_GO_MS);
    const open = this.#open.get(conversation) ?? [];
    if (open.includes(before) && open.includes(after) && this.#journal.wasCalm(before.at))
      this.#journal.violate(
        'one event of a conversation is handled at a time',
        `${before.key} and ${after.key} of ${conversation}`,
      );
  }

  #forget(conversation, asked) {
    const left = (this.#open.get(conversation) ?? []).filter((each) => each !== asked);
    if (left.length === 0) this.#open.delete(conversation);
    else this.#open.set(conversation, left);
  }

  /** The text of the answer; undefined where there is none, or the request was refused here. */
  async #answer(path, { event }, response) {
    const said = `heard ${event.id}`;
    if (this.isHealed || path === '/steady') return said;
    if (path === '/stuck') return undefined;
    const how = this.#chance.weighted([
      [60, 'answer'],
      [15, 'refuse'],
      [10, 'cut'],
      [10, 'slow'],
      [5, 'nonsense'],
    ]);
    if (how === 'slow') await sleep(this.#chance.between(200, 3_000));
    if (how === 'cut') response.destroy();
    if (how === 'refuse') response.writeHead(500).end('no');
    if (how === 'nonsense') response.writeHead(502, { 'content-type': 'text/html' }).end('<html>');
    return how === 'answer' || how === 'slow' ? said : undefined;
  }
}

async function textOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
