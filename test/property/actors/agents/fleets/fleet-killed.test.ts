// Fleets of members that answer, fail and fail for a while, in processes that end at any commit: the answer is the one that plain
// arithmetic gives, and nobody is asked again whose answer was durable.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FleetHandler } from '../../../../../actors/agents/fleets/fleet-handler.ts';
import { type Handler, HandlerError, type Job } from '../../../../../actors/agents/handlers/handler.ts';
import type { Coordination, Fleet } from '../../../../../config/resources/fleets/fleet.ts';
import { type FleetSettings, nextOfFleet } from '../../../../../machines/fleet-run/plan.ts';
import type { MemberRow } from '../../../../../machines/fleet-run/rows.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';
import { KeptRun, ProcessEnded } from '../../../../fixtures/automation/kept-run.ts';

type Deed = 'yes' | 'no' | 'fails' | 'flaps';

const arbFleet = fc.record({
  deeds: fc.array(fc.constantFrom<Deed>('yes', 'yes', 'no', 'fails', 'flaps'), {
    minLength: 1,
    maxLength: 5,
  }),
  coordination: fc.constantFrom<Coordination>(
    { mode: 'pipeline' },
    { mode: 'peer', by: 'merge' },
    { mode: 'peer', by: { field: 'v', algorithm: 'majority', min_votes: 1, on_none: 'fail' } },
    { mode: 'tiered', by: 'merge' },
  ),
  on_failure: fc.constantFrom('fail' as const, 'skip' as const),
  concurrency: fc.integer({ min: 1, max: 3 }),
  endsAt: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 4 }),
});

function fleetOf(deeds: readonly Deed[], more: Omit<FleetSettings, 'members'>): Fleet {
  const members = deeds.map((_, n) => ({
    ...{ name: `m${n}`, agent: `m${n}`, description: undefined, weight: 1_000, isManager: false },
    tier: more.coordination.mode === 'tiered' ? 1 + (n % 2) : 1,
  }));
  const rest = {
    name: 'f',
    file: '/f.yaml',
    hash: '',
    description: undefined,
    timeout_seconds: 60,
    definition: '{}',
  };
  return { ...rest, ...more, members, budget: { tokens: undefined, tool_calls: undefined, cost: undefined } };
}

/** What comes of it where nothing ends in between, by the plan alone. */
function expected(fleet: Fleet, deeds: readonly Deed[]): string | undefined {
  const rows: MemberRow[] = [];
  for (;;) {
    const { starts, end } = nextOfFleet(fleet, 'go', rows);
    if (end !== undefined) return end.how === 'done' ? end.text : undefined;
    const name = starts[0]?.member ?? '';
    const deed = deeds[Number(name.slice(1))];
    const text = deed === 'flaps' ? 'yes' : deed;
    rows.push(
      deed === 'fails'
        ? { kind: 'failed', in: name, reason: '' }
        : { kind: 'ended', in: name, text: text ?? '', data: { v: text } },
    );
  }
}

it('FLT1 FLT2 FLT3 PJL1 PJL2 RPT1 a fleet comes to its answer wherever its process ends', async () => {
  await fc.assert(
    fc.asyncProperty(arbFleet, async ({ deeds, endsAt, ...settings }) => {
      const fleet = fleetOf(deeds, settings);
      const run = new KeptRun();
      const flapped = new Set<string>();
      const keys = new Map<string, string>();
      let atWork = 0;
      const handlerOf = ({ name }: { readonly name: string }): Handler => ({
        run: async (job: Job) => {
          const before = run.rows.filter((row) => row.in === name).map(({ kind }) => kind);
          // A fleet that had failed when its process ended asks whoever had no answer.
          expect(before[0]).toBe('entered');
          expect(['entered', 'retried']).toContain(before.at(-1));
          expect(before).not.toContain('ended');
          expect(keys.get(name) ?? job.idempotencyKey).toBe(job.idempotencyKey);
          keys.set(name, job.idempotencyKey);
          atWork += 1;
          expect(atWork).toBeLessThanOrEqual(fleet.concurrency);
          await new Promise((resolve) => setImmediate(resolve));
          atWork -= 1;
          const deed = deeds[Number(name.slice(1))] ?? 'fails';
          if (deed === 'fails') throw new HandlerError('for good', { isFinal: true });
          if (deed === 'flaps' && !flapped.has(name)) {
            flapped.add(name);
            throw new HandlerError('for now');
          }
          const text = deed === 'flaps' ? 'yes' : deed;
          return { text, data: { v: text } };
        },
      });
      const handler = new FleetHandler(fleet, {
        handlerOf,
        readDefinition: async () => fleet,
        firstPauseMs: 1,
      });
      let answer: string | undefined;
      const ends = [...endsAt];
      for (;;) {
        run.endsAt = run.commits + (ends.shift() ?? Number.POSITIVE_INFINITY);
        atWork = 0;
        try {
          const reply = await run.attempt(handler, aJob({ input: 'go' }));
          answer = 'text' in reply ? reply.text : undefined;
          break;
        } catch (error) {
          if (error instanceof HandlerError) break;
          expect(error).toBeInstanceOf(ProcessEnded);
          // What the process has begun is gone with it.
          await new Promise((resolve) => setTimeout(resolve, 3));
        }
      }
      expect(answer).toBe(expected(fleet, deeds));
      const ended = run.rows
        .filter(({ kind, in: of }) => kind === 'ended' && of !== undefined)
        .map((row) => row.in);
      expect(new Set(ended).size).toBe(ended.length);
      expect(new Set(keys.values()).size).toBe(keys.size);
    }),
    { numRuns: 150 },
  );
});
