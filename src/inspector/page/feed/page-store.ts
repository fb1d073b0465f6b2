// Holds the state of the page (page-state.ts): applies the messages of the feed, records the history, and
// notifies the view at most once in each animation frame.

import type { AutomationTotals, WorkNumbers } from '../../wire/feed.ts';
import { triggerAddress, workAddress } from '../address.ts';
import type { NumbersSample } from './history.ts';
import { NumbersHistory } from './history.ts';
import { emptyState, type FeedMessage, type PageState, reduce, withoutLog } from './page-state.ts';

/**
 * State of the connection to the feed. `refused`: the gateway has responded with status 401, so the API key
 * is required again; the page does not reconnect.
 */
export interface FeedConnectionState {
  readonly status: 'connecting' | 'live' | 'lost' | 'refused';
  /** Browser time, in epoch milliseconds. */
  readonly since: number;
}

/** History key of the sum over all servers. A server's key is its id; another actor's key is the address. */
export const ALL = '';

export class PageStore {
  state: PageState = emptyState;
  connection: FeedConnectionState = { status: 'connecting', since: Date.now() };
  readonly history = new NumbersHistory();
  readonly #listeners = new Set<() => void>();
  #isScheduled = false;

  take(message: FeedMessage): void {
    const before = this.state.startedAt;
    this.state = reduce(this.state, message);
    if (this.state.startedAt !== before) this.history.clear();
    if (message.kind === 'numbers') {
      const { servers, gone, triggers, gone_triggers } = message.data;
      this.#remember(servers.map(({ id }) => id));
      this.#rememberTriggers(triggers.map(({ name }) => name));
      for (const id of gone) this.history.forget(id);
      for (const name of gone_triggers) this.history.forget(triggerAddress(name));
    }
    this.#changed();
  }

  setConnectionStatus(status: FeedConnectionState['status']): void {
    if (this.connection.status === status) return;
    this.connection = { status, since: Date.now() };
    this.#changed();
  }

  clearLog(): void {
    this.state = withoutLog(this.state);
    this.#changed();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #remember(changed: readonly string[]): void {
    const { servers, totals } = this.state;
    for (const id of changed) {
      const server = servers.get(id);
      if (server === undefined) continue;
      const { at, requests, failed, in_flight, waiting, latency_ms } = server;
      this.history.add(id, { at, requests, failed, in_flight, waiting, p95: latency_ms.p95 });
    }
    if (totals === null) return;
    let waiting = 0;
    for (const server of servers.values()) waiting += server.waiting;
    const { total, failed, in_flight } = totals.requests;
    const sample: NumbersSample = { at: totals.at, requests: total, failed, in_flight, waiting, p95: null };
    this.history.add(ALL, sample);
  }

  #rememberTriggers(changed: readonly string[]): void {
    const { triggers, at, totals } = this.state;
    for (const name of changed) {
      const { handled, failed } = triggers.get(name) ?? { handled: 0, failed: 0 };
      // Triggers and works have no requests: their handled events have the same place in the charts.
      const sample = { at, requests: handled, failed, in_flight: 0, waiting: 0, p95: null };
      this.history.add(triggerAddress(name), sample);
    }
    if (totals?.automation == null) return;
    for (const work of totals.automation.works)
      this.history.add(workAddress(work.name), workSample(totals.automation, work, at));
  }

  #changed(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => {
      this.#isScheduled = false;
      for (const listener of this.#listeners) listener();
    });
  }
}

function workSample({ deliveries }: AutomationTotals, work: WorkNumbers, at: number): NumbersSample {
  const { handled, failed, active, duration_ms } = work;
  const waiting = deliveries === null ? 0 : deliveries.queued + deliveries.retrying + deliveries.held;
  return { at, requests: handled, failed, in_flight: active, waiting, p95: duration_ms.p95 };
}
