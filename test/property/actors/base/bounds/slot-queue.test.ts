// Slots with a bounded queue (slot-queue.ts) under random requests, releases, cancellations and timeouts.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type ReleaseSlot, SlotQueue } from '../../../../../actors/base/bounds/slot-queue.ts';

const WAIT_MS = 1_000;
const TRIGGERS = 3;
const AGENTS = 3;
const PROVIDERS = 2;

const anyStep = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('acquire' as const),
      trigger: fc.nat(TRIGGERS - 1),
      agent: fc.nat(AGENTS - 1),
      provider: fc.nat(PROVIDERS - 1),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('release' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(WAIT_MS) }) },
);

const kindsOfHolders = ['trigger', 'agent', 'provider'] as const;
type Kind = (typeof kindsOfHolders)[number];

interface Request {
  readonly trigger: number;
  readonly agent: number;
  readonly provider: number;
  readonly abort: AbortController;
  state: 'waiting' | 'working' | 'over';
  release: ReleaseSlot | undefined;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Lets pending promises settle. */
const settle = () => vi.advanceTimersByTimeAsync(0);

test('slots are never exceeded or lost, no holder takes more than is free, and a free slot goes to the oldest request that may have it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 1, max: 6 }),
      fc.array(anyStep, { maxLength: 80 }),
      async (slots, maxWaiting, steps) => {
        const queue = new SlotQueue(slots, maxWaiting);
        const requests: Request[] = [];
        const inState = (state: Request['state']) => requests.filter((each) => each.state === state);
        const usedBy = (member: Kind, request: Request, state: Request['state']) =>
          inState(state).filter((each) => each[member] === request[member]).length;
        const hasShare = (request: Request, state: Request['state'], total: number) => {
          const free = total - inState(state).length;
          return kindsOfHolders.every((member) => usedBy(member, request, state) < free);
        };
        const expectSlots = async () => {
          await settle();
          // No request waits that may have a slot.
          for (const request of inState('waiting')) expect(hasShare(request, 'working', slots)).toBe(false);
          expect(queue.figures).toEqual({
            in_flight: inState('working').length,
            waiting: inState('waiting').length,
            limit: slots,
          });
          expect(queue.figures.in_flight).toBeLessThanOrEqual(slots);
          expect(queue.figures.waiting).toBeLessThanOrEqual(maxWaiting);
        };
        for (const step of steps) {
          if (step.do === 'acquire') {
            const { trigger, agent, provider } = step;
            const request: Request = {
              trigger,
              agent,
              provider,
              abort: new AbortController(),
              state: 'over',
              release: undefined,
            };
            const mayWork = hasShare(request, 'working', slots);
            const mayWait = hasShare(request, 'waiting', maxWaiting);
            request.state = mayWork ? 'working' : mayWait ? 'waiting' : 'over';
            requests.push(request);
            queue
              .acquire({
                holders: [`t ${trigger}`, `a ${agent}`, `p ${provider}`],
                signal: request.abort.signal,
                waitMs: WAIT_MS,
              })
              .then(
                (release) => {
                  request.release = release;
                  request.state = release === undefined ? 'over' : 'working';
                },
                () => {
                  request.state = 'over';
                },
              );
          } else if (step.do === 'release') {
            const working = inState('working');
            const request = working[step.at % working.length];
            if (request === undefined) continue;
            request.state = 'over';
            const next = inState('waiting').find((each) => hasShare(each, 'working', slots));
            request.release?.();
            await settle();
            if (next !== undefined) expect(next.state).toBe('working');
          } else if (step.do === 'abort') {
            const waiting = inState('waiting');
            waiting[step.at % waiting.length]?.abort.abort(new Error('cancelled'));
          } else await vi.advanceTimersByTimeAsync(step.ms);
          await expectSlots();
        }
        await vi.advanceTimersByTimeAsync(WAIT_MS);
        expect(inState('waiting')).toEqual([]);
        for (const request of inState('working')) {
          request.state = 'over';
          request.release?.();
        }
        expect(queue.figures).toEqual({ in_flight: 0, waiting: 0, limit: slots });
        expect(vi.getTimerCount()).toBe(0);
      },
    ),
    { numRuns: 60 },
  );
});
