// Shares of waiting events with random arrivals: noisy triggers and conversations never exclude others.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addCount } from '../../../../actors/store/holder-counts.ts';
import { triggerHolder } from '../../../../actors/store/waiting-shares.ts';
import { WaitingTally } from '../../../../actors/store/waiting-tally.ts';
import { eventOf } from '../../../fixtures/store/store-conformance.ts';

const MAX_WAITING = 200;
/** Guaranteed share of a trigger. */
const GUARANTEED = 2;
const TRIGGERS = 6;
let ids = 0;
const ofTrigger = (trigger: string, conversation: string | number) =>
  eventOf(`http:${trigger}/${++ids}`, `conversation/http/${trigger}/${conversation}`);
type Waiting = ReturnType<typeof eventOf>;

/** Adds the events of a call if they may wait. Returns true if so. */
function accept(waiting: Waiting[], events: readonly Waiting[]): boolean {
  const byTrigger = new Map<string, number>();
  const byConversation = new Map<string, number>();
  for (const event of waiting) {
    addCount(byTrigger, triggerHolder(event), 1);
    addCount(byConversation, event.key, 1);
  }
  const tally = new WaitingTally({ total: waiting.length, byTrigger, byConversation }, MAX_WAITING);
  if (tally.add(events, events) !== undefined) return false;
  waiting.push(...events);
  return true;
}

const anyArrival = fc.record({
  trigger: fc.integer({ min: 0, max: TRIGGERS - 1 }),
  conversation: fc.integer({ min: 0, max: 3 }),
  count: fc.integer({ min: 1, max: 60 }),
  isOneCall: fc.boolean(),
  /** Events that bypass the limit, such as the answers of runs. */
  emitted: fc.nat(20),
  ended: fc.nat(30),
});

test('a new trigger, and a new conversation of a trigger below its share, are accepted after any arrivals', () => {
  fc.assert(
    fc.property(fc.array(anyArrival, { maxLength: 40 }), (arrivals) => {
      const waiting: Waiting[] = [];
      let bypassed = 0;
      for (const { trigger, conversation, count, isOneCall, emitted, ended } of arrivals) {
        waiting.splice(0, ended);
        const before = waiting.length;
        const events = Array.from({ length: count }, () => ofTrigger(`t${trigger}`, conversation));
        if (isOneCall) {
          const isAccepted = accept(waiting, events);
          expect(waiting.length - before).toBe(isAccepted ? count : 0);
        } else for (const event of events) accept(waiting, [event]);
        for (let n = 0; n < emitted; n += 1) waiting.push(ofTrigger(`t${trigger}`, 'answer'));
        bypassed += emitted;
        expect(waiting.length).toBeLessThanOrEqual(MAX_WAITING + bypassed + TRIGGERS * GUARANTEED);
        expect(accept([...waiting], [ofTrigger('new', 1)])).toBe(true);
      }
    }),
  );
});

test('a single trigger gets half of the limit, and a single conversation a third', () => {
  for (const [conversation, most] of [
    [(n: number) => n, MAX_WAITING / 2],
    [() => 1, Math.ceil(MAX_WAITING / 3)],
  ] as const) {
    const waiting: Waiting[] = [];
    for (let n = 0; n < MAX_WAITING; n += 1) accept(waiting, [ofTrigger('noisy', conversation(n))]);
    expect(waiting).toHaveLength(most);
    expect(accept(waiting, [ofTrigger('noisy', 'other')])).toBe(most < MAX_WAITING / 2);
  }
});
