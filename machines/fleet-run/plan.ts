// Plans a fleet's next step from the journal rows of the members: the same rows yield the same step. A member
// starts once its input is complete, for example the answers of the previous tier. Up to `concurrency`
// members work in parallel. Until the fleet has its result, at least one member works or can start; then
// working members are dropped. A retried fleet keeps the answers and restarts the remaining members.

import type { Consensus, Fleet, FleetMember } from '../../config/resources/fleets/fleet.ts';
import { canonicalJson } from '../canonical-json.ts';
import { type Vote, type VotingResult, votingResult } from './ballot.ts';
import { type Answer, afterAnswer, withAnswers } from './member-input.ts';
import type { MemberRow } from './rows.ts';

export type FleetSettings = Pick<Fleet, 'members' | 'coordination' | 'on_failure' | 'concurrency'>;

export interface FleetStart {
  readonly member: string;
  readonly input: string;
}

export type FleetEnd =
  | { readonly how: 'done'; readonly text: string; readonly data?: unknown }
  | { readonly how: 'failed'; readonly reason: string };

export interface FleetNext {
  readonly starts: readonly FleetStart[];
  /** Working members that are no longer needed. */
  readonly drops: readonly string[];
  readonly end: FleetEnd | undefined;
}

class FleetMembers {
  readonly all: readonly FleetMember[];
  readonly answers = new Map<string, Answer>();
  readonly reasons = new Map<string, string>();
  readonly #states = new Map<string, MemberRow['kind']>();

  constructor(all: readonly FleetMember[], rows: readonly MemberRow[]) {
    this.all = all;
    for (const row of rows) {
      const before = this.#states.get(row.in);
      if (row.kind === 'retried') {
        if (before !== 'failed' && before !== 'dropped') continue;
        this.reasons.delete(row.in);
        this.#states.set(row.in, 'entered');
        continue;
      }
      if (before !== undefined && before !== 'entered') continue;
      this.#states.set(row.in, row.kind);
      if (row.kind === 'ended') this.answers.set(row.in, { name: row.in, text: row.text, data: row.data });
      if (row.kind === 'failed') this.reasons.set(row.in, row.reason);
    }
  }

  isNotStarted = ({ name }: FleetMember): boolean => !this.#states.has(name);
  isAtWork = ({ name }: FleetMember): boolean => this.#states.get(name) === 'entered';
  isOver = (member: FleetMember): boolean => !this.isNotStarted(member) && !this.isAtWork(member);

  answersOf(members: readonly FleetMember[]): readonly Answer[] {
    return members.flatMap(({ name }) => this.answers.get(name) ?? []);
  }
}

/** Returns the members to restart when a failed fleet is retried: the started members without an answer. */
export function withoutAnswer(rows: readonly MemberRow[]): readonly string[] {
  const states = new Map<string, MemberRow['kind']>();
  for (const { in: name, kind } of rows) if (states.get(name) !== 'ended') states.set(name, kind);
  return [...states].flatMap(([name, kind]) => (kind === 'failed' || kind === 'dropped' ? [name] : []));
}

/** Returns the next step. `input` is the input of the fleet; `rows` contains only rows of members. */
export function nextOfFleet(settings: FleetSettings, input: string, rows: readonly MemberRow[]): FleetNext {
  const members = new FleetMembers(settings.members, rows);
  const next = planOf(settings, members, input);
  const atWork = members.all.filter(members.isAtWork);
  if ('end' in next) return { starts: [], drops: atWork.map(({ name }) => name), end: next.end };
  const freeSlots = Math.max(0, settings.concurrency - atWork.length);
  return { starts: next.starts.slice(0, freeSlots), drops: [], end: undefined };
}

type FleetStep = { readonly starts: readonly FleetStart[] } | { readonly end: FleetEnd };

function planOf(settings: FleetSettings, members: FleetMembers, input: string): FleetStep {
  const { coordination } = settings;
  if (coordination.mode === 'pipeline') return planPipeline(settings, members, input);
  if (coordination.mode === 'hierarchical') return planManaged(members, input);
  return planTiers(settings, coordination.by, members, input);
}

function planPipeline({ on_failure }: FleetSettings, members: FleetMembers, input: string): FleetStep {
  let before: Answer | undefined;
  for (const member of members.all) {
    if (members.isNotStarted(member))
      return start([member], before === undefined ? input : afterAnswer(input, before));
    if (members.isAtWork(member)) return start([], input);
    const failure = on_failure === 'fail' ? failureOf(members, [member]) : undefined;
    if (failure !== undefined) return failure;
    before = members.answers.get(member.name) ?? before;
  }
  return before === undefined ? allFailed(members, members.all) : doneWith(before);
}

function planManaged(members: FleetMembers, input: string): FleetStep {
  const manager = members.all.find(({ isManager }) => isManager);
  return manager === undefined ? failWith('the fleet has no manager') : startAlone(members, manager, input);
}

function startAlone(members: FleetMembers, member: FleetMember, input: string): FleetStep {
  if (members.isNotStarted(member)) return start([member], input);
  const answer = members.answers.get(member.name);
  if (answer !== undefined) return doneWith(answer);
  return members.isAtWork(member) ? start([], input) : allFailed(members, [member]);
}

/** Plans members that work in parallel per tier; the next tier receives their answers. */
function planTiers(
  settings: FleetSettings,
  by: Consensus | 'merge' | 'manager',
  members: FleetMembers,
  first: string,
): FleetStep {
  const decider = deciderOf(members, by);
  const participants = members.all.filter((member) => member !== decider);
  const numbers = [...new Set(participants.map(({ tier }) => tier))].sort((a, b) => a - b);
  let input = first;
  for (const number of numbers) {
    const tier = participants.filter((member) => member.tier === number);
    const isLast = number === numbers.at(-1);
    if (isLast && typeof by === 'object') return decideByVote(by, tier, members, input, decider);
    const failure = settings.on_failure === 'fail' ? failureOf(members, tier) : undefined;
    if (failure !== undefined) return failure;
    const notStarted = tier.filter(members.isNotStarted);
    if (notStarted.length > 0 || !tier.every(members.isOver)) return start(notStarted, input);
    const answers = members.answersOf(tier);
    if (answers.length === 0) return allFailed(members, tier);
    if (isLast && decider !== undefined) return startAlone(members, decider, withAnswers(input, answers));
    if (isLast) return mergeAnswers(answers);
    input = withAnswers(first, answers);
  }
  return failWith('the fleet has no members');
}

/** Returns the member, if any, that receives all other answers and decides. */
function deciderOf({ all }: FleetMembers, by: Consensus | 'merge' | 'manager'): FleetMember | undefined {
  if (by === 'manager') return all.find(({ isManager }) => isManager);
  if (typeof by !== 'object' || by.on_none === 'fail') return undefined;
  const { agent } = by.on_none;
  return all.find(({ name }) => name === agent);
}

function decideByVote(
  { field, algorithm, min_votes, on_none }: Consensus,
  voters: readonly FleetMember[],
  members: FleetMembers,
  input: string,
  decider: FleetMember | undefined,
): FleetStep {
  const votes = new Map(
    voters.filter(members.isOver).map(({ name }) => [name, voteOf(members.answers.get(name), field)]),
  );
  const result = votingResult(voters, votes, { algorithm, minVotes: min_votes });
  if (result.kind === 'open') return start(voters.filter(members.isNotStarted), input);
  const ballot = ballotText(voters, members, field);
  if (result.kind === 'decided')
    return doneWith({ text: plain(result.value), data: decidedData(field, result, voters, votes) });
  if (on_none === 'fail' || decider === undefined)
    return failWith(`no consensus on ${field}: ${result.why} (${ballot})`);
  return startAlone(members, decider, withAnswers(input, members.answersOf(voters)));
}

/** Returns a string value as text, any other value as JSON. */
function plain(json: string): string {
  const value = JSON.parse(json) as unknown;
  return typeof value === 'string' ? value : json;
}

/** Returns the decided value with the vote of each member. */
function decidedData(
  field: string,
  { value }: Extract<VotingResult, { readonly kind: 'decided' }>,
  voters: readonly FleetMember[],
  votes: ReadonlyMap<string, Vote>,
) {
  const cast = voters.flatMap(({ name }) => {
    const vote = votes.get(name);
    return vote === undefined ? [] : [[name, JSON.parse(vote) as unknown] as const];
  });
  return { [field]: JSON.parse(value) as unknown, votes: Object.fromEntries(cast) };
}

/** Returns the vote in an answer; undefined without a vote: models may violate their schema. */
function voteOf(answer: Answer | undefined, field: string): Vote {
  const { data } = answer ?? {};
  if (typeof data !== 'object' || data === null || !Object.hasOwn(data, field)) return undefined;
  return canonicalJson((data as Readonly<Record<string, unknown>>)[field]);
}

function ballotText(voters: readonly FleetMember[], members: FleetMembers, field: string): string {
  return voters
    .map((voter) => {
      const { name } = voter;
      if (!members.isOver(voter)) return `${name}: not needed`;
      const reason = members.reasons.get(name);
      return `${name}: ${voteOf(members.answers.get(name), field) ?? `no vote, ${reason ?? `the answer has no ${field}`}`}`;
    })
    .join('; ');
}

function mergeAnswers(answers: readonly Answer[]): FleetStep {
  const text = answers.map((answer) => `**${answer.name}**\n${answer.text}`).join('\n\n');
  return {
    end: {
      how: 'done',
      text,
      data: Object.fromEntries(answers.map((answer) => [answer.name, answer.data ?? answer.text])),
    },
  };
}

const start = (members: readonly FleetMember[], input: string): FleetStep => ({
  starts: members.map(({ name }) => ({ member: name, input })),
});

const doneWith = ({ text, data }: Pick<Answer, 'text' | 'data'>): FleetStep => ({
  end: { how: 'done', text, data },
});

const failWith = (reason: string): FleetStep => ({ end: { how: 'failed', reason } });

function failureOf({ reasons }: FleetMembers, members: readonly FleetMember[]): FleetStep | undefined {
  const broken = members.find(({ name }) => reasons.has(name));
  return broken && failWith(`${broken.name}: ${reasons.get(broken.name)}`);
}

function allFailed({ reasons }: FleetMembers, members: readonly FleetMember[]): FleetStep {
  const why = members.map(({ name }) => `${name}: ${reasons.get(name) ?? 'not needed'}`);
  return failWith(why.length === 1 ? (why[0] ?? '') : `all members have failed (${why.join('; ')})`);
}
