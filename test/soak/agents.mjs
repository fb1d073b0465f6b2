// HTTP agents of the soak: `steady` always answers, `shaky` often fails, `stuck` never answers. When the
// faults have ended, all answer.
//
// Detects these violations: concurrent attempts in a conversation, first attempts out of order, and repeated
// delivery of an answered event without a disturbance of the gateway.

import { setTimeout as sleep } from 'node:timers/promises';
import { LoopbackServer } from './loopback-server.mjs';

/** Maximum delay until this server detects a disconnect by the gateway. */
const ABORT_NOTICE_MS = 3_000;

export class Agents extends LoopbackServer {
  isHealed = false;
  /** Event numbers per conversation, in the order of first attempts. */
  order = new Map();
  /** Time of the response per event key, in performance.now() milliseconds. */
  answered = new Map();
  /**
   * performance.now() of the last schedule event. `lastInstant` is the scheduled time, by the gateway's
   * clock.
   */
  lastPulseAt = performance.now();
  lastInstant = 0;
  #journal;
  #chance;
  #life;
  /** Open requests per conversation. */
  #open = new Map();
  #seen = new Set();
  #replayed = new Set();

  constructor({ journal, chance, life }) {
    super((request, response) => this.#onRequest(request, response));
    this.#journal = journal;
    this.#chance = chance;
    this.#life = life;
  }

  /** Makes all agents answer. */
  heal() {
    this.isHealed = true;
    for (const requests of this.#open.values()) for (const { response } of requests) response.destroy();
  }

  /** Permits another delivery of this event. */
  expectAgain(id) {
    this.#replayed.add(id);
  }

  async #onRequest(request, response) {
    const job = JSON.parse(await textOf(request));
    const key = String(request.headers['idempotency-key']);
    const attempt = { key, response, life: this.#life(), at: performance.now() };
    this.#note(job, attempt);
    response.once('close', () => this.#forget(job.conversation, attempt));
    const text = await this.#answer(request.url, job, response);
    if (text === undefined || response.destroyed) return;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ text }), () => this.answered.set(key, performance.now()));
  }

  #note({ conversation, event }, attempt) {
    const { key } = attempt;
    this.#journal.count('attempts');
    const others = this.#open.get(conversation) ?? [];
    this.#open.set(conversation, [...others, attempt]);
    for (const other of others)
      if (other.life === attempt.life) void this.#watch(conversation, other, attempt);
    if (key.startsWith('schedule:')) {
      this.lastPulseAt = performance.now();
      this.lastInstant = Date.parse(event.payload.at);
    }
    const answeredAt = this.answered.get(key);
    if (answeredAt !== undefined && !this.#replayed.delete(key) && this.#journal.wasCalm(answeredAt))
      this.#journal.violate('an answered event is not delivered again without a reason', key);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const { n } = event.payload ?? {};
    if (typeof n !== 'number') return;
    const order = this.order.get(conversation) ?? [];
    this.order.set(conversation, order);
    if (n <= (order.at(-1) ?? 0))
      this.#journal.violate('events of a conversation arrive in order', `${key} after ${order.at(-1)}`);
    order.push(n);
  }

  /** Reports a violation if two attempts are still open after ABORT_NOTICE_MS. */
  async #watch(conversation, before, after) {
    await sleep(ABORT_NOTICE_MS);
    const open = this.#open.get(conversation) ?? [];
    if (open.includes(before) && open.includes(after) && this.#journal.wasCalm(before.at))
      this.#journal.violate(
        'one event of a conversation is handled at a time',
        `${before.key} and ${after.key} of ${conversation}`,
      );
  }

  #forget(conversation, attempt) {
    const remaining = (this.#open.get(conversation) ?? []).filter((each) => each !== attempt);
    if (remaining.length === 0) this.#open.delete(conversation);
    else this.#open.set(conversation, remaining);
  }

  /** Returns the answer; undefined if the agent does not answer, or has responded with an error. */
  async #answer(path, { event }, response) {
    const text = `heard ${event.id}`;
    if (this.isHealed || path === '/steady') return text;
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
    return how === 'answer' || how === 'slow' ? text : undefined;
  }
}

async function textOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
