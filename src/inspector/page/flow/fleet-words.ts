// How a fleet comes to one answer, and how a vote stands, in words.

import type { MemberRecord } from '../../../http/api/run-shapes.ts';
import type { FleetPlan } from '../../../http/api/target-shapes.ts';
import { counted } from '../words.ts';

const modes: Readonly<Record<string, string>> = {
  pipeline: 'one after the other, each is told the answer before it',
  peer: 'all are asked at once',
  hierarchical: 'its manager asks the others',
  tiered: 'tier by tier, each is told what the one before it said',
};

const algorithms: Readonly<Record<string, string>> = {
  majority: 'more than half of all',
  unanimous: 'all of them',
  weighted: 'more than half of all weight',
};

export function fleetWords({ mode, vote, aggregation, members }: FleetPlan): string {
  const how = modes[mode] ?? mode;
  const ends =
    vote !== null
      ? `; a vote on ${vote.field}: ${algorithms[vote.algorithm] ?? vote.algorithm}${vote.min_votes > 1 ? `, ${vote.min_votes} votes at least` : ''}`
      : aggregation === 'merge'
        ? '; all answers together are the answer'
        : aggregation === 'manager'
          ? '; its manager makes one answer of all'
          : '';
  return `${counted(members.length, 'member')}: ${how}${ends}`;
}

/** `"ok": 2 of 3, "no": 1 of 3`, by weight where that counts; undefined where there is no vote. */
export function votesText({ vote, members }: FleetPlan, rows: readonly MemberRecord[]): string | undefined {
  if (vote === null) return undefined;
  const last = Math.max(...members.map(({ tier }) => tier));
  const voters = members.filter(({ tier }) => tier === last);
  const weightOf = (name: string) =>
    vote.algorithm === 'weighted' ? (voters.find((each) => each.name === name)?.weight ?? 0) : 1;
  const total = voters.reduce((sum, { name }) => sum + weightOf(name), 0);
  const tally = new Map<string, number>();
  for (const { name, vote: cast } of rows)
    if (cast !== null && voters.some((each) => each.name === name))
      tally.set(cast, (tally.get(cast) ?? 0) + weightOf(name));
  if (tally.size === 0) return `No vote on ${vote.field} yet.`;
  const unit = vote.algorithm === 'weighted' ? ' of all weight' : '';
  return `Votes on ${vote.field}: ${[...tally].map(([value, sum]) => `${value} ${round(sum)} of ${round(total)}${unit}`).join(', ')}`;
}

const round = (value: number): string => String(Math.round(value * 1_000) / 1_000);
