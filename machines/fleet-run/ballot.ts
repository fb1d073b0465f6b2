// A vote among the members of a fleet on one field of their answers: plain arithmetic, and it is over as soon as that allows.
//
// VT1  a verdict stands: whatever votes come after it, it is the same.
// VT2  it is given as soon as no further vote could make it another one.
// VT3  a voter without a vote counts among those who were asked: half is half of all of them, or of all their weight.

export type VotingAlgorithm = 'majority' | 'unanimous' | 'weighted';

export interface VotingRules {
  readonly algorithm: VotingAlgorithm;
  /** Votes that have to be cast. */
  readonly minVotes: number;
}

export interface Voter {
  readonly name: string;
  /** In whole thousandths, so that sums are exact. */
  readonly weight: number;
}

/** The value as JSON; undefined of one who was asked and gave none. */
export type Vote = string | undefined;

export type Verdict =
  /** More votes are needed. */
  | { readonly kind: 'open' }
  | { readonly kind: 'decided'; readonly value: string }
  | { readonly kind: 'none'; readonly why: string };

/** `votes` by the names of voters; of those who are not there nothing is known yet. */
export function verdictOf(
  voters: readonly Voter[],
  votes: ReadonlyMap<string, Vote>,
  { algorithm, minVotes }: VotingRules,
): Verdict {
  const weightOf = ({ weight }: Voter) => (algorithm === 'weighted' ? weight : 1);
  const total = sum(voters.map(weightOf));
  const missing = voters.filter(({ name }) => !votes.has(name));
  const cast = voters.filter(({ name }) => votes.get(name) !== undefined);
  if (cast.length + missing.length < minVotes)
    return none(`${cast.length + missing.length} of ${voters.length} could vote, and ${minVotes} have to`);
  const tally = new Map<string, number>();
  for (const voter of cast) {
    const value = votes.get(voter.name) as string;
    tally.set(value, (tally.get(value) ?? 0) + weightOf(voter));
  }
  const open = sum(missing.map(weightOf));
  const isEnough = (weight: number) => (algorithm === 'unanimous' ? weight === total : weight * 2 > total);
  const [value, weight] = [...tally].find(([, each]) => isEnough(each)) ?? [];
  if (value !== undefined && weight !== undefined && cast.length >= minVotes)
    return { kind: 'decided', value };
  const isPossible = [0, ...tally.values()].some((each) => isEnough(each + open));
  if (isPossible) return { kind: 'open' };
  return none(algorithm === 'unanimous' ? 'they do not agree' : 'no value has more than half');
}

const none = (why: string): Verdict => ({ kind: 'none', why });

const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0);
