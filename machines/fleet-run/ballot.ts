// Counts the votes of fleet members on one field of their answers. A result is returned as soon as later
// votes cannot change it. Voters without a vote count in the total: a majority is more than half of the
// voters, or of their total weight.

export type VotingAlgorithm = 'majority' | 'unanimous' | 'weighted';

export interface VotingRules {
  readonly algorithm: VotingAlgorithm;
  /** Minimum number of votes. */
  readonly minVotes: number;
}

export interface Voter {
  readonly name: string;
  /** Integer thousandths, so that sums are exact. */
  readonly weight: number;
}

/** Value as JSON; undefined if the voter cast no vote. */
export type Vote = string | undefined;

export type VotingResult =
  /** More votes are needed. */
  | { readonly kind: 'open' }
  | { readonly kind: 'decided'; readonly value: string }
  /** No consensus is possible. */
  | { readonly kind: 'none'; readonly why: string };

/** Returns the voting result. `votes` has an entry, by name, for each voter that has finished. */
export function votingResult(
  voters: readonly Voter[],
  votes: ReadonlyMap<string, Vote>,
  { algorithm, minVotes }: VotingRules,
): VotingResult {
  const weightOf = ({ weight }: Voter) => (algorithm === 'weighted' ? weight : 1);
  const total = sum(voters.map(weightOf));
  const missing = voters.filter(({ name }) => !votes.has(name));
  const cast = voters.filter(({ name }) => votes.get(name) !== undefined);
  if (cast.length + missing.length < minVotes)
    return none(`${cast.length + missing.length} of ${voters.length} can vote, and ${minVotes} are required`);
  const tally = new Map<string, number>();
  for (const voter of cast) {
    const value = votes.get(voter.name) as string;
    tally.set(value, (tally.get(value) ?? 0) + weightOf(voter));
  }
  const missingWeight = sum(missing.map(weightOf));
  const isEnough = (weight: number) => (algorithm === 'unanimous' ? weight === total : weight * 2 > total);
  const [value, weight] = [...tally].find(([, each]) => isEnough(each)) ?? [];
  if (value !== undefined && weight !== undefined && cast.length >= minVotes)
    return { kind: 'decided', value };
  const isPossible = [0, ...tally.values()].some((each) => isEnough(each + missingWeight));
  if (isPossible) return { kind: 'open' };
  return none(algorithm === 'unanimous' ? 'they do not agree' : 'no value has more than half');
}

const none = (why: string): VotingResult => ({ kind: 'none', why });

const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0);
