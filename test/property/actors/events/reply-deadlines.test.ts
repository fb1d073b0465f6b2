// Platforms with a reply deadline, after which a reply is no longer possible. Events, failures, stops and
// kills occur in random order. No handler starts too late, no message is sent too late, and senders are
// notified in time, once.

import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { type Handler, HandlerError } from '../../../../actors/agents/handlers/handler.ts';
import type { DeliveryState } from '../../../../actors/store/delivery.ts';
import { manualTrigger } from '../../../fixtures/automation/triggers.ts';
import { WaitingChat } from '../../../fixtures/automation/waiting-chat.ts';
import { MemoryStore } from '../../../fixtures/store/memory-store.ts';

const WINDOW_MS = 180_000;
/** Runs are aborted this long before the deadline. */
const MARGIN_MS = 30_000;
/** Tick of the dispatcher, and precision of deadlines and final times. */
const TICK_MS = 500;

afterEach(() => {
  vi.useRealTimers();
});

const behaviour = fc.constantFrom('answers', 'is slow', 'hangs', 'is stubborn', 'fails', 'is busy', 'parks');
const step = fc.record({
  does: fc.constantFrom('say', 'cancel', 'discard', 'replay', 'kill', 'nothing'),
  event: fc.constantFrom('a1', 'a2', 'b1'),
  passesMs: fc.constantFrom(0, 700, 20_000, 100_000, 149_600, 200_000),
});

/** Final states. A replayed delivery becomes final a second time. */
const OVER: ReadonlySet<DeliveryState | undefined> = new Set(['done', 'dead', 'ignored']);

class Scenario {
  readonly store = new MemoryStore();
  readonly saidAt = new Map<string, number>();
  readonly endedAt = new Map<string, number>();
  readonly wasKilled = new Set<string>();
  readonly faults: string[] = [];
  chat: WaitingChat;
  readonly messages: { to: string | undefined; text: string; at: number }[] = [];
  readonly #behaviours: string[];

  constructor(behaviours: readonly string[]) {
    this.#behaviours = [...behaviours];
    this.chat = this.#begin();
  }

  answerBy(id: string): number {
    return (this.saidAt.get(id) ?? Number.NaN) + WINDOW_MS;
  }

  async happen(does: string, id: string): Promise<void> {
    if (does === 'say' && !this.saidAt.has(id)) {
      this.saidAt.set(id, Date.now());
      await this.chat.say(id, { answerBy: this.answerBy(id) }, id[0]);
    } else if (does === 'cancel') await this.chat.deliveries.cancel(id, 'cancelled');
    else if (does === 'discard') await this.chat.deliveries.discard(id, 'discarded');
    else if (does === 'replay') await this.chat.deliveries.requeue(id);
    else if (does === 'kill') await this.#kill();
  }

  /** Advances the time, and checks the records on the way. */
  async pass(ms: number): Promise<void> {
    const endsAt = Date.now() + ms;
    do {
      await vi.advanceTimersByTimeAsync(Math.min(TICK_MS, Math.max(1, endsAt - Date.now())));
      await this.#look();
    } while (Date.now() < endsAt);
  }

  async #look(): Promise<void> {
    for (const id of this.saidAt.keys()) {
      const record = await this.store.delivery(id);
      if (OVER.has(record?.state) && !this.endedAt.has(id)) this.endedAt.set(id, Date.now());
      // The store sets this pause, so the test cannot shorten it.
      if (record?.retryAt !== undefined && record.crashes === 0)
        expect(record.retryAt).toBeLessThan(this.answerBy(id) - MARGIN_MS);
    }
  }

  /** Kills the process: later actions of it have no effect. */
  async #kill(): Promise<void> {
    for (const id of this.saidAt.keys()) this.wasKilled.add(id);
    this.messages.push(...this.chat.sentMessages);
    const ended = this.chat;
    ended.refusesMessages = true;
    this.store.restart();
    this.chat = this.#begin();
    void ended.end(0);
  }

  #begin(): WaitingChat {
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
    const endsAt = this.answerBy(id) - MARGIN_MS;
    if (Date.now() >= endsAt) this.faults.push(`${id} was asked about too late`);
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
            if (Date.now() > endsAt + TICK_MS) this.faults.push(`${id} was cut too late`);
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
      for (const { does, event, passesMs } of steps) {
        await world.happen(does, event);
        await world.pass(passesMs);
      }
      await world.pass(2 * WINDOW_MS);
      expect(world.faults).toEqual([]);
      const allMessages = [...world.messages, ...world.chat.sentMessages];
      for (const id of world.saidAt.keys()) {
        const ownMessages = allMessages.filter(({ to }) => to === id);
        for (const { at } of ownMessages) expect(at).toBeLessThanOrEqual(world.answerBy(id));
        const ends = ownMessages.filter(
          ({ text }) => text !== 'yes' && !text.startsWith('This takes longer'),
        );
        expect(ends.length).toBeLessThanOrEqual(1);
        // The process cannot send messages while it is dead, or during the pause after that.
        const endedAt = world.endedAt.get(id);
        if (endedAt !== undefined && endedAt < world.answerBy(id) && !world.wasKilled.has(id))
          expect(ownMessages.filter(({ text }) => !text.startsWith('This takes longer'))).not.toEqual([]);
      }
      const ended = world.chat.end(0);
      await vi.advanceTimersByTimeAsync(1_000);
      await ended;
    }),
    { numRuns: 25, endOnFailure: true },
  );
});
