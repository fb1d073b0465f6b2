// The early decision of a ballot in a fleet: several agents answer one request and vote. The model completes
// the missing votes in all possible ways: the ballot is decided exactly if the result is the same in all of
// them.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type Vote,
  type Voter,
  type VotingResult,
  type VotingRules,
  votingResult,
} from '../../../../machines/fleet-run/ballot.ts';

/** Votes as JSON. `undefined` is an abstention. */
const possibleVotes: readonly Vote[] = ['"yes"', '"no"', '"later"', undefined];

const anyRules: fc.Arbitrary<VotingRules> = fc.record({
  algorithm: fc.constantFrom('majority', 'unanimous', 'weighted'),
  minVotes: fc.nat(5),
});

const anyVoters: fc.Arbitrary<readonly Voter[]> = fc
  .array(fc.integer({ min: 1, max: 4_000 }), { minLength: 1, maxLength: 5 })
  .map((weights) => weights.map((weight, n) => ({ name: `m${n}`, weight })));

/** Returns the result after all votes. */
function finalResult(voters: readonly Voter[], votes: ReadonlyMap<string, Vote>, rules: VotingRules): Vote {
  const voteCount = voters.filter(({ name }) => votes.get(name) !== undefined).length;
  if (voteCount < rules.minVotes) return undefined;
  const strengthOf = (some: readonly Voter[]) =>
    rules.algorithm === 'weighted' ? some.reduce((sum, { weight }) => sum + weight, 0) : some.length;
  return possibleVotes.find((value) => {
    if (value === undefined) return false;
    const supporters = voters.filter(({ name }) => votes.get(name) === value);
    const share = strengthOf(supporters) / strengthOf(voters);
    return rules.algorithm === 'unanimous' ? share === 1 : share > 0.5;
  });
}

/** Yields all possible completions of the missing votes. */
function* completions(
  voters: readonly Voter[],
  votes: ReadonlyMap<string, Vote>,
): Iterable<ReadonlyMap<string, Vote>> {
  const next = voters.find(({ name }) => !votes.has(name));
  if (next === undefined) yield votes;
  else for (const value of possibleVotes) yield* completions(voters, new Map([...votes, [next.name, value]]));
}

it('a ballot of a fleet is decided exactly when no further vote could change the result', () => {
  fc.assert(
    fc.property(
      anyVoters,
      anyRules,
      fc.array(fc.constantFrom(...possibleVotes), { maxLength: 5 }),
      (voters, rules, firstVotes) => {
        const votes = new Map(firstVotes.slice(0, voters.length).map((vote, n) => [`m${n}`, vote]));
        const outcomes = new Set<Vote>();
        for (const allVotes of completions(voters, votes)) outcomes.add(finalResult(voters, allVotes, rules));
        const result: VotingResult = votingResult(voters, votes, rules);
        if (outcomes.size > 1) expect(result.kind).toBe('open');
        else if (outcomes.has(undefined)) expect(result.kind).toBe('none');
        else expect(result).toEqual({ kind: 'decided', value: [...outcomes][0] });
      },
    ),
    { numRuns: 500 },
  );
});
