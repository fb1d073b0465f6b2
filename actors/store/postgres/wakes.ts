// Tells this node that there may be something to claim: what it has done itself at once, what other nodes have done by their
// notifications, and what falls due by looking.
//
// A notification is sent outside of every transaction that writes, and many are one: the server holds a lock for all that
// commit with one.
// PGV2  nothing depends on notifications: whatever is claimable is found by looking, every POLL_MS.

import type pg from 'pg';
import { type Database, statement } from './database.ts';

const CHANNEL = 'actor_gateway_wake';
const POLL_MS = 200;
/** Between two notifications. */
const NOTIFIED_EVERY_MS = 20;
/** Before a connection for notifications that was lost is made anew. */
const RECONNECT_MS = 1_000;

const look = statement<readonly [isReady: boolean]>(
  `WITH clock AS (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now)
   SELECT EXISTS (SELECT 1 FROM mailbox, clock WHERE ready_at <= now) OR EXISTS (SELECT 1 FROM timer, clock WHERE due <= now)`,
);
const notify = statement(`SELECT pg_notify('${CHANNEL}', '')`);

export class Wakes {
  readonly #database: Database;
  readonly #listeners = new Set<() => void>();
  #listening: pg.Client | undefined;
  #polling: NodeJS.Timeout | undefined;
  #notifying: NodeJS.Timeout | undefined;
  #reconnecting: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(database: Database) {
    this.#database = database;
  }

  async start(): Promise<void> {
    await this.#connect();
    this.#poll();
  }

  listen(onWake: () => void): () => void {
    // A listener of its own, so that the same function may be given twice.
    const listener = () => onWake();
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Something has become claimable by this node: it and the others hear of it. */
  tell(): void {
    queueMicrotask(() => this.#wake());
    this.#notifying ??= setTimeout(() => {
      this.#notifying = undefined;
      // Whoever hears nothing of it looks by itself.
      this.#database.rows(notify).catch(() => undefined);
    }, NOTIFIED_EVERY_MS);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of [this.#polling, this.#notifying, this.#reconnecting]) clearTimeout(timer);
    await this.#listening?.end().catch(() => undefined);
  }

  #wake(): void {
    if (this.#isClosed) return;
    for (const listener of [...this.#listeners]) listener();
  }

  #poll(): void {
    this.#polling = setTimeout(async () => {
      try {
        const [[isReady] = [false]] = await this.#database.rows(look);
        if (isReady) this.#wake();
      } catch {
        // The database is away: whoever works with it says so.
      }
      if (!this.#isClosed) this.#poll();
    }, POLL_MS);
    this.#polling.unref();
  }

  async #connect(): Promise<void> {
    try {
      const client = await this.#database.connect();
      if (this.#isClosed) return void (await client.end());
      this.#listening = client;
      client.on('error', () => this.#reconnect());
      client.on('end', () => this.#reconnect());
      client.on('notification', () => this.#wake());
      await client.query(`LISTEN ${CHANNEL}`);
    } catch {
      this.#reconnect();
    }
  }

  #reconnect(): void {
    if (this.#isClosed || this.#reconnecting !== undefined) return;
    this.#listening = undefined;
    this.#reconnecting = setTimeout(() => {
      this.#reconnecting = undefined;
      void this.#connect();
    }, RECONNECT_MS);
    this.#reconnecting.unref();
  }
}
