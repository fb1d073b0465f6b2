// Calls the listeners of this node when events can possibly be claimed: after transactions of this node, on
// notifications from other nodes, and when a poll finds due events. Notifications to other nodes are combined
// and sent outside of write transactions, because the server serialises commits that contain notifications.
// They only reduce the delay: polling finds all due events. The connection for notifications also receives
// those about changed access keys.

import type pg from 'pg';
import { type Database, statement } from './database.ts';

const CHANNEL = 'actor_gateway_wake';
/** Channel about changed access keys. */
export const KEY_CHANNEL = 'actor_gateway_keys';
const POLL_MS = 200;
/** Minimum interval between notifications. */
const NOTIFIED_EVERY_MS = 20;
/** Delay before reopening the connection for notifications. */
const RECONNECT_MS = 1_000;

const findWork = statement<readonly [isReady: boolean]>(
  `WITH clock AS (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now)
   SELECT EXISTS (SELECT 1 FROM mailbox, clock WHERE ready_at <= now) OR EXISTS (SELECT 1 FROM timer, clock WHERE due <= now)`,
);
const sendNotification = statement(`SELECT pg_notify('${CHANNEL}', '')`);

export class Wakes {
  readonly #database: Database;
  readonly #listeners = new Set<() => void>();
  readonly #keyListeners = new Set<() => void>();
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
    // Wrapped, because the same function may be added twice.
    const listener = () => onWake();
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls the listener when access keys have changed. A notification can be lost. */
  watchKeys(listener: () => void): () => void {
    this.#keyListeners.add(listener);
    return () => this.#keyListeners.delete(listener);
  }

  /** Wakes the listeners of this node, and notifies other nodes. */
  notify(): void {
    queueMicrotask(() => this.#wake());
    this.#notifying ??= setTimeout(() => {
      this.#notifying = undefined;
      // Without a notification other nodes poll.
      this.#database.rows(sendNotification).catch(() => undefined);
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
        const [[isReady] = [false]] = await this.#database.rows(findWork);
        if (isReady) this.#wake();
      } catch {
        // The database is unavailable; its other users report the error.
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
      client.on('notification', ({ channel }) => {
        if (channel !== KEY_CHANNEL) this.#wake();
        else for (const listener of this.#keyListeners) listener();
      });
      await client.query(`LISTEN ${CHANNEL}; LISTEN ${KEY_CHANNEL}`);
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
