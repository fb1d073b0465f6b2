// The plan of a fleet's run: nextOfFleet decides which members (agents) start next, and the result. Members
// of random fleets answer, fail or return invalid data, in random order. The result of the fleet equals a
// direct computation from all outcomes.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Coordination, FleetMember } from '../../../../config/resources/fleets/fleet.ts';
import { votingResult } from '../../../../machines/fleet-run/ballot.ts';
import { type FleetSettings, nextOfFleet } from '../../../../machines/fleet-run/plan.ts';
import type { MemberRow } from '../../../../machines/fleet-run/rows.ts';

/** Member outcome. Undefined is a failure; `data` may be absent or lack the field `verdict`. */
type Outcome = { readonly text: string; readonly data: unknown } | undefined;

const arbOutcome: fc.Arbitrary<Outcome> = fc.option(
  fc.record({
    text: fc.constantFrom('a', 'b', 'c'),
    data: fc.constantFrom<unknown>(
      { verdict: 'ship' },
      { verdict: 'ship' },
      { verdict: 'wait' },
      {},
      null,
      'ship',
      undefined,
    ),
  }),
  { nil: undefined, freq: 6 },
);

const arbCoordination: fc.Arbitrary<Coordination> = fc.oneof(
  fc.constantFrom({ mode: 'pipeline' as const }, { mode: 'hierarchical' as const }),
  fc.record({
    mode: fc.constantFrom('peer' as const, 'tiered' as const),
    by: fc.oneof(
      fc.constantFrom('merge' as const, 'manager' as const),
      fc.record({
        field: fc.constant('verdict'),
        algorithm: fc.constantFrom('majority' as const, 'unanimous' as const, 'weighted' as const),
        min_votes: fc.integer({ min: 1, max: 3 }),
        on_none: fc.constantFrom('fail' as const, { agent: 'm0' }),
      }),
    ),
  }),
);

const arbFleet = fc
  .record({
    coordination: arbCoordination,
    outcomes: fc.array(
      fc.record({
        outcome: arbOutcome,
        weight: fc.integer({ min: 1, max: 5 }),
        tier: fc.integer({ min: 1, max: 3 }),
      }),
      { minLength: 2, maxLength: 7 },
    ),
    on_failure: fc.constantFrom('fail' as const, 'skip' as const),
    concurrency: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ coordination, outcomes, ...rest }) => {
    const members = outcomes.map(
      ({ weight, tier }, n): FleetMember => ({
        name: `m${n}`,
        agent: `m${n}`,
        description: undefined,
        weight,
        isManager: n === 0,
        tier: coordination.mode === 'tiered' ? tier : 1,
      }),
    );
    const settings: FleetSettings = { members, coordination, ...rest };
    return { settings, outcomeOf: new Map(outcomes.map(({ outcome }, n) => [`m${n}`, outcome])) };
  });

/** The model: returns the result of the fleet. Undefined if the fleet fails. */
function expectedResult(
  { members, coordination, on_failure }: FleetSettings,
  outcomeOf: ReadonlyMap<string, Outcome>,
): Outcome {
  const outcomes = (someMembers: readonly FleetMember[]) =>
    someMembers.map(({ name }) => outcomeOf.get(name));
  if (coordination.mode === 'hierarchical') return outcomeOf.get('m0');
  if (coordination.mode === 'pipeline') {
    const all = outcomes(members);
    if (on_failure === 'fail' && all.includes(undefined)) return undefined;
    return all.findLast((outcome) => outcome !== undefined);
  }
  const { by } = coordination;
  // The first member does not vote if it decides: as the manager, or if no value wins.
  const hasSeparateDecider = by === 'manager' || (typeof by === 'object' && by.on_none !== 'fail');
  const askedMembers = hasSeparateDecider ? members.slice(1) : members;
  const lastTier = Math.max(...askedMembers.map(({ tier }) => tier));
  for (const tier of [1, 2, 3]) {
    const tierMembers = askedMembers.filter((member) => member.tier === tier);
    if (tierMembers.length === 0) continue;
    if (tier === lastTier && typeof by === 'object') {
      const votes = tierMembers.map(({ name }) => {
        const { data } = outcomeOf.get(name) ?? {};
        const { verdict } = (typeof data === 'object' && data !== null ? data : {}) as { verdict?: unknown };
        return [name, verdict === undefined ? undefined : JSON.stringify(verdict)] as const;
      });
      const result = votingResult(tierMembers, new Map(votes), {
        algorithm: by.algorithm,
        minVotes: by.min_votes,
      });
      if (result.kind === 'decided') return { text: String(JSON.parse(result.value)), data: undefined };
      return by.on_none === 'fail' ? undefined : outcomeOf.get('m0');
    }
    const all = outcomes(tierMembers);
    if (all.every((outcome) => outcome === undefined) || (on_failure === 'fail' && all.includes(undefined)))
      return undefined;
    if (tier === lastTier && by === 'manager') return outcomeOf.get('m0');
    if (tier === lastTier)
      return {
        text: tierMembers
          .flatMap(({ name }) => (outcomeOf.get(name) ? [`**${name}**\n${outcomeOf.get(name)?.text}`] : []))
          .join('\n\n'),
        data: undefined,
      };
  }
  return undefined;
}

it('a fleet of agents has the same result for any order of the answers of its members', () => {
  fc.assert(
    fc.property(arbFleet, fc.infiniteStream(fc.nat(1_000)), ({ settings, outcomeOf }, choices) => {
      const pick = (count: number) => (choices.next().value ?? 0) % count;
      const rows: MemberRow[] = [];
      /** Returns the members that have started and not finished. `in` of a row is the member's name. */
      const workingMembers = () => {
        const finished = new Set(rows.filter(({ kind }) => kind !== 'entered').map((row) => row.in));
        return rows.filter((row) => row.kind === 'entered' && !finished.has(row.in)).map((row) => row.in);
      };
      for (let round = 0; ; round += 1) {
        expect(round).toBeLessThan(100);
        const next = nextOfFleet(settings, 'go', rows);
        if (next.end !== undefined) {
          const result = expectedResult(settings, outcomeOf);
          expect([...next.drops].sort()).toEqual(workingMembers().sort());
          expect(next.end.how === 'done' ? next.end.text : undefined).toEqual(result?.text);
          return;
        }
        const working = workingMembers();
        expect(working.length + next.starts.length).toBeLessThanOrEqual(
          Math.max(settings.concurrency, working.length),
        );
        expect(working.length + next.starts.length).toBeGreaterThan(0);
        // Either a working member finishes, or a planned member starts.
        const at = pick(working.length + next.starts.length);
        const name = working[at];
        if (name === undefined) {
          const { member, input } = next.starts[at - working.length] ?? { member: '', input: '' };
          expect(rows.some((row) => row.in === member)).toBe(false);
          expect(input.startsWith('go')).toBe(true);
          rows.push({ kind: 'entered', in: member });
          continue;
        }
        const outcome = outcomeOf.get(name);
        rows.push(
          outcome === undefined
            ? { kind: 'failed', in: name, reason: 'no' }
            : { kind: 'ended', in: name, ...outcome },
        );
      }
    }),
    { numRuns: 1_000 },
  );
});
