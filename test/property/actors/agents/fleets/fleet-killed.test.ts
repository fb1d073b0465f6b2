// Random fleets (several agents that answer one event together) whose members answer, fail, or fail
// temporarily. The process is killed at random commits. The answer equals a computation without kills, a
// member with a stored answer is not re-run, and all members retain their idempotency keys.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FleetHandler } from '../../../../../actors/agents/fleets/handler.ts';
import { type Handler, HandlerError, type Job } from '../../../../../actors/agents/handlers/handler.ts';
import type { Coordination, Fleet } from '../../../../../config/resources/fleets/fleet.ts';
import { type FleetSettings, nextOfFleet } from '../../../../../machines/fleet-run/plan.ts';
import type { MemberRow } from '../../../../../machines/fleet-run/rows.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';
import { KillableRun, ProcessKilled } from '../../../../fixtures/automation/killable-run.ts';

/** Member answer (`yes`, `no`), a final failure, or one temporary failure before `yes` (`flaps`). */
type Behaviour = 'yes' | 'no' | 'fails' | 'flaps';

const arbFleet = fc.record({
  behaviours: fc.array(fc.constantFrom<Behaviour>('yes', 'yes', 'no', 'fails', 'flaps'), {
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
  /** Numbers of commits before the kills. */
  commitsBeforeKills: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 4 }),
});

function fleetOf(behaviours: readonly Behaviour[], settings: Omit<FleetSettings, 'members'>): Fleet {
  const members = behaviours.map((_, n) => ({
    name: `m${n}`,
    agent: `m${n}`,
    description: undefined,
    weight: 1_000,
    isManager: false,
    // Tiered fleets have two tiers.
    tier: settings.coordination.mode === 'tiered' ? 1 + (n % 2) : 1,
  }));
  const rest = {
    name: 'f',
    file: '/f.yaml',
    hash: '',
    description: undefined,
    timeout_seconds: 60,
    definition: '{}',
  };
  return {
    ...rest,
    ...settings,
    members,
    budget: { tokens: undefined, tool_calls: undefined, cost: undefined },
  };
}

/**
 * Returns the answer without kills, computed from the plan alone. Undefined for a fleet that fails. `v` is
 * the field that the consensus compares.
 */
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

it('a fleet of agents returns the same answer, no matter when its process is killed', async () => {
  await fc.assert(
    fc.asyncProperty(arbFleet, async ({ behaviours, commitsBeforeKills, ...settings }) => {
      const fleet = fleetOf(behaviours, settings);
      const run = new KillableRun();
      const failedOnce = new Set<string>();
      const keysByMember = new Map<string, string>();
      let runningMembers = 0;
      const handlerOf = ({ name }: { readonly name: string }): Handler => ({
        run: async (job: Job) => {
          // The journal contains the start of this member, and no answer of it.
          const rowKinds = run.rows.filter((row) => row.in === name).map(({ kind }) => kind);
          expect(rowKinds[0]).toBe('entered');
          expect(['entered', 'retried']).toContain(rowKinds.at(-1));
          expect(rowKinds).not.toContain('ended');
          expect(keysByMember.get(name) ?? job.idempotencyKey).toBe(job.idempotencyKey);
          keysByMember.set(name, job.idempotencyKey);
          runningMembers += 1;
          expect(runningMembers).toBeLessThanOrEqual(fleet.concurrency);
          await new Promise((resolve) => setImmediate(resolve));
          runningMembers -= 1;
          const behaviour = behaviours[Number(name.slice(1))] ?? 'fails';
          if (behaviour === 'fails') throw new HandlerError('for good', { isFinal: true });
          if (behaviour === 'flaps' && !failedOnce.has(name)) {
            failedOnce.add(name);
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
      // Repeats attempts until the fleet answers or fails. Any attempt may be killed.
      let answer: string | undefined;
      const remainingKills = [...commitsBeforeKills];
      for (;;) {
        run.killedAtCommit = run.commits + (remainingKills.shift() ?? Number.POSITIVE_INFINITY);
        runningMembers = 0;
        try {
          const reply = await run.attempt(handler, aJob({ input: 'go' }));
          answer = 'text' in reply ? reply.text : undefined;
          break;
        } catch (error) {
          if (error instanceof HandlerError) break;
          expect(error).toBeInstanceOf(ProcessKilled);
          // A killed process has no running members. Here their promises continue: the loop waits for them.
          await new Promise((resolve) => setTimeout(resolve, 3));
        }
      }
      expect(answer).toBe(expectedAnswer(fleet, behaviours));
      // No member answered twice. A row without `in` belongs to the fleet.
      const answeredMembers = run.rows
        .filter((row) => row.kind === 'ended' && row.in !== undefined)
        .map((row) => row.in);
      expect(new Set(answeredMembers).size).toBe(answeredMembers.length);
      // No two members share a key.
      expect(new Set(keysByMember.values()).size).toBe(keysByMember.size);
    }),
    { numRuns: 150 },
  );
});
