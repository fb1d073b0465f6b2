import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type Vote,
  type Voter,
  type VotingResult,
  type VotingRules,
  votingResult,
} from '../../../../machines/fleet-run/ballot.ts';

const values: readonly Vote[] = ['"yes"', '"no"', '"later"', undefined];

const arbRules: fc.Arbitrary<VotingRules> = fc.record({
  algorithm: fc.constantFrom('majority', 'unanimous', 'weighted'),
  minVotes: fc.nat(5),
});

const arbVoters: fc.Arbitrary<readonly Voter[]> = fc
  .array(fc.integer({ min: 1, max: 4_000 }), { minLength: 1, maxLength: 5 })
  .map((weights) => weights.map((weight, n) => ({ name: `m${n}`, weight })));

/** Returns the result after all votes. */
function finalResult(voters: readonly Voter[], votes: ReadonlyMap<string, Vote>, rules: VotingRules): Vote {
  const cast = voters.filter(({ name }) => votes.get(name) !== undefined);
  if (cast.length < rules.minVotes) return undefined;
  const share = (value: Vote) => {
    const those = voters.filter(({ name }) => votes.get(name) === value);
    const of = (some: readonly Voter[]) =>
      rules.algorithm === 'weighted' ? some.reduce((all, { weight }) => all + weight, 0) : some.length;
    return of(those) / of(voters);
  };
  return values.find(
    (value) =>
      value !== undefined && (rules.algorithm === 'unanimous' ? share(value) === 1 : share(value) > 0.5),
  );
}

/** Yields all possible completions of the missing votes. */
function* completions(
  voters: readonly Voter[],
  votes: ReadonlyMap<string, Vote>,
): Iterable<ReadonlyMap<string, Vote>> {
  const next = voters.find(({ name }) => !votes.has(name));
  if (next === undefined) yield votes;
  else for (const value of values) yield* completions(voters, new Map([...votes, [next.name, value]]));
}

it('a ballot of a fleet is decided exactly when no further vote could change the result', () => {
  fc.assert(
    fc.property(
      arbVoters,
      arbRules,
      fc.array(fc.constantFrom(...values), { maxLength: 5 }),
      (voters, rules, given) => {
        const votes = new Map(given.slice(0, voters.length).map((vote, n) => [`m${n}`, vote]));
        const outcomes = new Set<Vote>();
        for (const all of completions(voters, votes)) outcomes.add(finalResult(voters, all, rules));
        const verdict: VotingResult = votingResult(voters, votes, rules);
        if (outcomes.size > 1) expect(verdict.kind).toBe('open');
        else if (outcomes.has(undefined)) expect(verdict.kind).toBe('none');
        else expect(verdict).toEqual({ kind: 'decided', value: [...outcomes][0] });
      },
    ),
    { numRuns: 500 },
  );
});
