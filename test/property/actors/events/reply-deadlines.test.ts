// Platforms with a reply deadline, after which a reply is no longer possible. Events, failures, stops and
// kills occur in random order. No handler starts too late, no message is sent too late, and each sender is
// notified once and in time.

import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { type Handler, HandlerError } from '../../../../actors/agents/handlers/handler.ts';
import type { DeliveryState } from '../../../../actors/store/delivery.ts';
import { manualTrigger } from '../../../fixtures/automation/triggers.ts';
import { WaitingChat } from '../../../fixtures/automation/waiting-chat.ts';
import { MemoryStore } from '../../../fixtures/store/memory-store.ts';

/** Time from an event to its reply deadline. */
const WINDOW_MS = 180_000;
/** A run is aborted this time before the deadline. */
const MARGIN_MS = 30_000;
/** Interval at which the dispatcher checks the store, and precision of deadlines and final times. */
const TICK_MS = 500;

afterEach(() => {
  vi.useRealTimers();
});

/** Behaviour of one attempt. A stubborn attempt ignores its abort signal. `hangs` waits for it. */
const behaviour = fc.constantFrom('answers', 'is slow', 'hangs', 'is stubborn', 'fails', 'is busy', 'parks');
const step = fc.record({
  /** `say` sends the event; `cancel`, `discard` and `replay` are requests of an operator. */
  action: fc.constantFrom('say', 'cancel', 'discard', 'replay', 'kill', 'nothing'),
  event: fc.constantFrom('a1', 'a2', 'b1'),
  // 149,600 ms is just before an attempt is aborted (180 s - 30 s), 200,000 ms is after the deadline.
  advanceMs: fc.constantFrom(0, 700, 20_000, 100_000, 149_600, 200_000),
});

/** Final states. A replayed delivery becomes final a second time. */
const FINAL_STATES: ReadonlySet<DeliveryState | undefined> = new Set(['done', 'dead', 'ignored']);

/** A chat whose process may be killed, with the times of its events and the violations of the deadlines. */
class Scenario {
  readonly store = new MemoryStore();
  readonly sentAt = new Map<string, number>();
  readonly endedAt = new Map<string, number>();
  readonly wasKilled = new Set<string>();
  readonly violations: string[] = [];
  chat: WaitingChat;
  /** Messages of killed processes. */
  readonly messages: { to: string | undefined; text: string; at: number }[] = [];
  /** Behaviours of the next attempts. */
  readonly #behaviours: string[];

  constructor(behaviours: readonly string[]) {
    this.#behaviours = [...behaviours];
    this.chat = this.#startChat();
  }

  /** Returns the reply deadline of an event. */
  answerBy(id: string): number {
    return (this.sentAt.get(id) ?? Number.NaN) + WINDOW_MS;
  }

  async happen(action: string, id: string): Promise<void> {
    if (action === 'say' && !this.sentAt.has(id)) {
      this.sentAt.set(id, Date.now());
      await this.chat.say(id, { answerBy: this.answerBy(id) }, id[0]);
    } else if (action === 'cancel') await this.chat.deliveries.cancel(id, 'cancelled');
    else if (action === 'discard') await this.chat.deliveries.discard(id, 'discarded');
    else if (action === 'replay') await this.chat.deliveries.requeue(id);
    else if (action === 'kill') await this.#kill();
  }

  /** Advances the time, and checks the records on the way. */
  async pass(ms: number): Promise<void> {
    const endsAt = Date.now() + ms;
    do {
      await vi.advanceTimersByTimeAsync(Math.min(TICK_MS, Math.max(1, endsAt - Date.now())));
      await this.#checkRecords();
    } while (Date.now() < endsAt);
  }

  async #checkRecords(): Promise<void> {
    for (const id of this.sentAt.keys()) {
      const record = await this.store.delivery(id);
      if (FINAL_STATES.has(record?.state) && !this.endedAt.has(id)) this.endedAt.set(id, Date.now());
      // A retry starts before the abort time. The pause after a crash is excepted: the store sets it.
      if (record?.retryAt !== undefined && record.crashes === 0)
        expect(record.retryAt).toBeLessThan(this.answerBy(id) - MARGIN_MS);
    }
  }

  /** Kills the process: its later actions have no effect. */
  async #kill(): Promise<void> {
    for (const id of this.sentAt.keys()) this.wasKilled.add(id);
    this.messages.push(...this.chat.sentMessages);
    const killedChat = this.chat;
    killedChat.refusesMessages = true;
    this.store.restart();
    this.chat = this.#startChat();
    void killedChat.end(0);
  }

  #startChat(): WaitingChat {
    const retry = { attempts: 4, min_backoff_seconds: 40, max_backoff_seconds: 120, factor: 3 };
    const chat = new WaitingChat({
      store: this.store,
      triggers: [{ ...manualTrigger('chat'), retry, timeout_seconds: 600 }],
      longestTimeoutMs: 600_000,
      dispatcher: { tickMs: TICK_MS, pollMs: 5_000, patienceMs: 1_000 },
      handler: { run: (job, context) => this.#run(chat, job.event.id, context) },
    });
    return chat;
  }

  async #run(chat: WaitingChat, id: string, { signal }: Parameters<Handler['run']>[1]) {
    if (chat !== this.chat) throw new Error('it is dead');
    const abortAt = this.answerBy(id) - MARGIN_MS;
    if (Date.now() >= abortAt) this.violations.push(`an attempt of ${id} started too late`);
    switch (this.#behaviours.shift() ?? 'answers') {
      case 'fails':
        throw new HandlerError('broken');
      case 'is busy':
        throw new HandlerError('busy', { isRateLimited: true, retryAfterMs: 60_000 });
      case 'parks':
        return { parkedOn: `decision ${id}` };
      case 'is stubborn':
        return new Promise<never>(() => {});
      case 'is slow':
        await new Promise((resolve) => setTimeout(resolve, 60_000));
        return { text: 'yes' };
      case 'hangs':
        return new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => {
            if (Date.now() > abortAt + TICK_MS) this.violations.push(`${id} was aborted too late`);
            reject(signal.reason);
          });
        });
      default:
        return { text: 'yes' };
    }
  }
}

test('no handler starts and no message is sent after the reply deadline, and each sender learns the outcome once', async () => {
  const scenario = fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 8 }),
    behaviours: fc.array(behaviour, { maxLength: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ steps, behaviours }) => {
      vi.useFakeTimers({ now: Date.UTC(2026, 10, 23) });
      const world = new Scenario(behaviours);
      for (const { action, event, advanceMs } of steps) {
        await world.happen(action, event);
        await world.pass(advanceMs);
      }
      await world.pass(2 * WINDOW_MS);
      expect(world.violations).toEqual([]);
      const allMessages = [...world.messages, ...world.chat.sentMessages];
      for (const id of world.sentAt.keys()) {
        const ownMessages = allMessages.filter(({ to }) => to === id);
        for (const { at } of ownMessages) expect(at).toBeLessThanOrEqual(world.answerBy(id));
        // Answers and notices about the end. `This takes longer` is the notice for waiting events.
        const finalMessages = ownMessages.filter(({ text }) => !text.startsWith('This takes longer'));
        const endNotices = finalMessages.filter(({ text }) => text !== 'yes');
        expect(endNotices.length).toBeLessThanOrEqual(1);
        // The sender is notified before the deadline, except after a kill: no message is sent until the
        // process runs again and the pause of the event has ended.
        const endedAt = world.endedAt.get(id);
        if (endedAt !== undefined && endedAt < world.answerBy(id) && !world.wasKilled.has(id))
          expect(finalMessages).not.toEqual([]);
      }
      const ended = world.chat.end(0);
      await vi.advanceTimersByTimeAsync(1_000);
      await ended;
    }),
    { numRuns: 25, endOnFailure: true },
  );
});
