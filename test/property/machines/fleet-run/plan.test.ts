// Fleets of random members that answer, fail and lie, in random order: what comes of them is what a few lines say that know all
// answers beforehand.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Coordination, FleetMember } from '../../../../config/resources/fleets/fleet.ts';
import { verdictOf } from '../../../../machines/fleet-run/ballot.ts';
import { type FleetSettings, nextOfFleet } from '../../../../machines/fleet-run/plan.ts';
import type { MemberRow } from '../../../../machines/fleet-run/rows.ts';

/** What a member does: undefined, it fails; `data` may lack the field, and may be nothing at all. */
type Deed = { readonly text: string; readonly data: unknown } | undefined;

const arbDeed: fc.Arbitrary<Deed> = fc.option(
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
    deeds: fc.array(
      fc.record({
        deed: arbDeed,
        weight: fc.integer({ min: 1, max: 5 }),
        tier: fc.integer({ min: 1, max: 3 }),
      }),
      {
        minLength: 2,
        maxLength: 7,
      },
    ),
    on_failure: fc.constantFrom('fail' as const, 'skip' as const),
    concurrency: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ coordination, deeds, ...rest }) => {
    const members = deeds.map(
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
    return { settings, deedOf: new Map(deeds.map(({ deed }, n) => [`m${n}`, deed])) };
  });

/** Undefined: the fleet fails. */
function expected(
  { members, coordination, on_failure }: FleetSettings,
  deedOf: ReadonlyMap<string, Deed>,
): Deed {
  const deeds = (some: readonly FleetMember[]) => some.map(({ name }) => deedOf.get(name));
  if (coordination.mode === 'hierarchical') return deedOf.get('m0');
  if (coordination.mode === 'pipeline') {
    const all = deeds(members);
    if (on_failure === 'fail' && all.includes(undefined)) return undefined;
    return all.findLast((deed) => deed !== undefined);
  }
  const { by } = coordination;
  const hasDecider = by === 'manager' || (typeof by === 'object' && by.on_none !== 'fail');
  const asked = hasDecider ? members.slice(1) : members;
  const last = Math.max(...asked.map(({ tier }) => tier));
  for (const tier of [1, 2, 3]) {
    const those = asked.filter((member) => member.tier === tier);
    if (those.length === 0) continue;
    if (tier === last && typeof by === 'object') {
      const votes = those.map(({ name }) => {
        const { data } = deedOf.get(name) ?? {};
        const { verdict } = (typeof data === 'object' && data !== null ? data : {}) as { verdict?: unknown };
        return [name, verdict === undefined ? undefined : JSON.stringify(verdict)] as const;
      });
      const given = verdictOf(those, new Map(votes), { algorithm: by.algorithm, minVotes: by.min_votes });
      if (given.kind === 'decided') return { text: String(JSON.parse(given.value)), data: undefined };
      return by.on_none === 'fail' ? undefined : deedOf.get('m0');
    }
    const all = deeds(those);
    if (all.every((deed) => deed === undefined) || (on_failure === 'fail' && all.includes(undefined)))
      return undefined;
    if (tier === last && by === 'manager') return deedOf.get('m0');
    if (tier === last)
      return {
        text: those
          .flatMap(({ name }) => (deedOf.get(name) ? [`**${name}**\n${deedOf.get(name)?.text}`] : []))
          .join('\n\n'),
        data: undefined,
      };
  }
  return undefined;
}

it('FP1 FP2 FP3 FP4 FP5 in whatever order members answer, a fleet comes to the same', () => {
  fc.assert(
    fc.property(arbFleet, fc.infiniteStream(fc.nat(1_000)), ({ settings, deedOf }, choices) => {
      const pick = (count: number) => (choices.next().value ?? 0) % count;
      const rows: MemberRow[] = [];
      const atWork = () => {
        const over = new Set(rows.filter(({ kind }) => kind !== 'entered').map((row) => row.in));
        return rows.filter((row) => row.kind === 'entered' && !over.has(row.in)).map((row) => row.in);
      };
      for (let round = 0; ; round += 1) {
        expect(round).toBeLessThan(100);
        const next = nextOfFleet(settings, 'go', rows);
        if (next.end !== undefined) {
          const given = expected(settings, deedOf);
          expect([...next.drops].sort()).toEqual(atWork().sort());
          expect(next.end.how === 'done' ? next.end.text : undefined).toEqual(given?.text);
          return;
        }
        const working = atWork();
        expect(working.length + next.starts.length).toBeLessThanOrEqual(
          Math.max(settings.concurrency, working.length),
        );
        expect(working.length + next.starts.length).toBeGreaterThan(0);
        const at = pick(working.length + next.starts.length);
        const name = working[at];
        if (name === undefined) {
          const { member, input } = next.starts[at - working.length] ?? { member: '', input: '' };
          expect(rows.some((row) => row.in === member)).toBe(false);
          expect(input.startsWith('go')).toBe(true);
          rows.push({ kind: 'entered', in: member });
          continue;
        }
        const deed = deedOf.get(name);
        rows.push(
          deed === undefined
            ? { kind: 'failed', in: name, reason: 'no' }
            : { kind: 'ended', in: name, ...deed },
        );
      }
    }),
    { numRuns: 1_000 },
  );
});
