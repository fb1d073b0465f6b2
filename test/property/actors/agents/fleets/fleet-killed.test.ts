// Fleets of members that answer, fail, or fail temporarily, while processes are killed at random commits: the
// answer equals a direct computation, and members with durable answers do not run again.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FleetHandler } from '../../../../../actors/agents/fleets/handler.ts';
import { type Handler, HandlerError, type Job } from '../../../../../actors/agents/handlers/handler.ts';
import type { Coordination, Fleet } from '../../../../../config/resources/fleets/fleet.ts';
import { type FleetSettings, nextOfFleet } from '../../../../../machines/fleet-run/plan.ts';
import type { MemberRow } from '../../../../../machines/fleet-run/rows.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';
import { KillableRun, ProcessKilled } from '../../../../fixtures/automation/killable-run.ts';

type Behaviour = 'yes' | 'no' | 'fails' | 'flaps';

const arbFleet = fc.record({
  deeds: fc.array(fc.constantFrom<Behaviour>('yes', 'yes', 'no', 'fails', 'flaps'), {
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

function fleetOf(behaviours: readonly Behaviour[], more: Omit<FleetSettings, 'members'>): Fleet {
  const members = behaviours.map((_, n) => ({
    name: `m${n}`,
    agent: `m${n}`,
    description: undefined,
    weight: 1_000,
    isManager: false,
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

/** Returns the result without crashes, computed from the plan alone. */
function expectedAnswer(fleet: Fleet, behaviours: readonly Behaviour[]): string | undefined {
  const rows: MemberRow[] = [];
  for (;;) {
    const { starts, end } = nextOfFleet(fleet, 'go', rows);
    if (end !== undefined) return end.how === 'done' ? end.text : undefined;
    const name = starts[0]?.member ?? '';
    const behaviour = behaviours[Number(name.slice(1))];
    const text = behaviour === 'flaps' ? 'yes' : behaviour;
    rows.push(
      behaviour === 'fails'
        ? { kind: 'failed', in: name, reason: '' }
        : { kind: 'ended', in: name, text: text ?? '', data: { v: text } },
    );
  }
}

it('a fleet of agents returns the same answer, whenever its process is killed', async () => {
  await fc.assert(
    fc.asyncProperty(arbFleet, async ({ deeds: behaviours, endsAt, ...settings }) => {
      const fleet = fleetOf(behaviours, settings);
      const run = new KillableRun();
      const flapped = new Set<string>();
      const keys = new Map<string, string>();
      let atWork = 0;
      const handlerOf = ({ name }: { readonly name: string }): Handler => ({
        run: async (job: Job) => {
          const before = run.rows.filter((row) => row.in === name).map(({ kind }) => kind);
          // A fleet that had failed before the kill runs only the members that have no answer.
          expect(before[0]).toBe('entered');
          expect(['entered', 'retried']).toContain(before.at(-1));
          expect(before).not.toContain('ended');
          expect(keys.get(name) ?? job.idempotencyKey).toBe(job.idempotencyKey);
          keys.set(name, job.idempotencyKey);
          atWork += 1;
          expect(atWork).toBeLessThanOrEqual(fleet.concurrency);
          await new Promise((resolve) => setImmediate(resolve));
          atWork -= 1;
          const behaviour = behaviours[Number(name.slice(1))] ?? 'fails';
          if (behaviour === 'fails') throw new HandlerError('for good', { isFinal: true });
          if (behaviour === 'flaps' && !flapped.has(name)) {
            flapped.add(name);
            throw new HandlerError('for now');
          }
          const text = behaviour === 'flaps' ? 'yes' : behaviour;
          return { text, data: { v: text } };
        },
      });
      const handler = new FleetHandler(fleet, {
        handlerOf,
        readDefinition: async () => fleet,
        firstPauseMs: 1,
      });
      let answer: string | undefined;
      const remainingKills = [...endsAt];
      for (;;) {
        run.killedAtCommit = run.commits + (remainingKills.shift() ?? Number.POSITIVE_INFINITY);
        atWork = 0;
        try {
          const reply = await run.attempt(handler, aJob({ input: 'go' }));
          answer = 'text' in reply ? reply.text : undefined;
          break;
        } catch (error) {
          if (error instanceof HandlerError) break;
          expect(error).toBeInstanceOf(ProcessKilled);
          // Work that the process started is lost with it.
          await new Promise((resolve) => setTimeout(resolve, 3));
        }
      }
      expect(answer).toBe(expectedAnswer(fleet, behaviours));
      const ended = run.rows
        .filter(({ kind, in: of }) => kind === 'ended' && of !== undefined)
        .map((row) => row.in);
      expect(new Set(ended).size).toBe(ended.length);
      expect(new Set(keys.values()).size).toBe(keys.size);
    }),
    { numRuns: 150 },
  );
});
