// Describes the mode of a fleet (several agents that answer one event together) and the votes of its members.

import type { MemberRecord } from '../../../http/api/run-shapes.ts';
import type { FleetPlan } from '../../../http/api/target-shapes.ts';
import { pluralize } from '../format.ts';

const modes: Readonly<Record<string, string>> = {
  pipeline: 'sequential, each receives the previous response',
  peer: 'in parallel',
  hierarchical: 'the manager delegates to the others',
  tiered: 'tier by tier, each receives the responses of the previous tier',
};

const algorithms: Readonly<Record<string, string>> = {
  majority: 'majority of members',
  unanimous: 'unanimous',
  weighted: 'majority of weights',
};

export function fleetText({ mode, vote, aggregation, members }: FleetPlan): string {
  const modeText = modes[mode] ?? mode;
  const resultText =
    vote !== null
      ? `; vote on ${vote.field}: ${algorithms[vote.algorithm] ?? vote.algorithm}${vote.min_votes > 1 ? `, at least ${vote.min_votes} votes` : ''}`
      : aggregation === 'merge'
        ? '; responses are merged'
        : aggregation === 'manager'
          ? '; the manager combines the responses'
          : '';
  return `${pluralize(members.length, 'member')}: ${modeText}${resultText}`;
}

/**
 * Returns the votes, such as `"ok" 2 of 3, "no" 1 of 3`; undefined if the fleet does not vote. Only members
 * of the last tier vote. `records` are the members of the run.
 */
export function votesText(
  { vote, members }: FleetPlan,
  records: readonly MemberRecord[],
): string | undefined {
  if (vote === null) return undefined;
  const last = Math.max(...members.map(({ tier }) => tier));
  const voters = members.filter(({ tier }) => tier === last);
  const weightOf = (name: string) =>
    vote.algorithm === 'weighted' ? (voters.find((each) => each.name === name)?.weight ?? 0) : 1;
  const total = voters.reduce((sum, { name }) => sum + weightOf(name), 0);
  const tally = new Map<string, number>();
  for (const { name, vote: value } of records)
    if (value !== null && voters.some((each) => each.name === name))
      tally.set(value, (tally.get(value) ?? 0) + weightOf(name));
  if (tally.size === 0) return `No vote on ${vote.field} yet.`;
  const unit = vote.algorithm === 'weighted' ? ' of the total weight' : '';
  return `Votes on ${vote.field}: ${[...tally].map(([value, sum]) => `${value} ${round(sum)} of ${round(total)}${unit}`).join(', ')}`;
}

const round = (value: number): string => String(Math.round(value * 1_000) / 1_000);
