// What a fleet does next, from what its journal says of its members.
//
// FP1  the same rows give the same next thing. A member is asked once, and one that has ended is never asked again.
// FP2  with a verdict nobody else is asked, and whoever is at work is dropped.
// FP3  a member is asked when all that it is to be told is there: the answer before it, the tier before it, all answers.
// FP4  no more are at work at a time than `concurrency` says.
// FP5  while the fleet has not ended somebody is at work, or may be asked.
// FP6  a fleet that has failed and goes on asks whoever had no answer; answers stay.

import type { Consensus, Fleet, FleetMember } from '../../config/resources/fleets/fleet.ts';
import { canonicalJson } from '../canonical-json.ts';
import { type Verdict, type Vote, verdictOf } from './ballot.ts';
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
  /** At work, and not needed any more. */
  readonly drops: readonly string[];
  readonly end: FleetEnd | undefined;
}

class Members {
  readonly all: readonly FleetMember[];
  readonly answers = new Map<string, Answer>();
  readonly reasons = new Map<string, string>();
  readonly #fates = new Map<string, MemberRow['kind']>();

  constructor(all: readonly FleetMember[], rows: readonly MemberRow[]) {
    this.all = all;
    for (const row of rows) {
      const before = this.#fates.get(row.in);
      if (row.kind === 'retried') {
        if (before !== 'failed' && before !== 'dropped') continue;
        this.reasons.delete(row.in);
        this.#fates.set(row.in, 'entered');
        continue;
      }
      if (before !== undefined && before !== 'entered') continue;
      this.#fates.set(row.in, row.kind);
      if (row.kind === 'ended') this.answers.set(row.in, { name: row.in, text: row.text, data: row.data });
      if (row.kind === 'failed') this.reasons.set(row.in, row.reason);
    }
  }

  isUnasked = ({ name }: FleetMember): boolean => !this.#fates.has(name);
  isAtWork = ({ name }: FleetMember): boolean => this.#fates.get(name) === 'entered';
  isOver = (member: FleetMember): boolean => !this.isUnasked(member) && !this.isAtWork(member);

  answersOf(members: readonly FleetMember[]): readonly Answer[] {
    return members.flatMap(({ name }) => this.answers.get(name) ?? []);
  }
}

/** Members that are asked again where a fleet that has failed goes on: whoever has no answer, though it was asked. */
export function withoutAnswer(rows: readonly MemberRow[]): readonly string[] {
  const fates = new Map<string, MemberRow['kind']>();
  for (const { in: name, kind } of rows) if (fates.get(name) !== 'ended') fates.set(name, kind);
  return [...fates].flatMap(([name, fate]) => (fate === 'failed' || fate === 'dropped' ? [name] : []));
}

/** `input` is what the fleet was asked. Rows of anything but its members are left out before. */
export function nextOfFleet(settings: FleetSettings, input: string, rows: readonly MemberRow[]): FleetNext {
  const members = new Members(settings.members, rows);
  const next = wantedBy(settings, members, input);
  const atWork = members.all.filter(members.isAtWork);
  if ('end' in next) return { starts: [], drops: atWork.map(({ name }) => name), end: next.end };
  const room = Math.max(0, settings.concurrency - atWork.length);
  return { starts: next.starts.slice(0, room), drops: [], end: undefined };
}

type Wanted = { readonly starts: readonly FleetStart[] } | { readonly end: FleetEnd };

function wantedBy(settings: FleetSettings, members: Members, input: string): Wanted {
  const { coordination } = settings;
  if (coordination.mode === 'pipeline') return pipeline(settings, members, input);
  if (coordination.mode === 'hierarchical') return managed(members, input);
  return tiers(settings, coordination.by, members, input);
}

function pipeline({ on_failure }: FleetSettings, members: Members, input: string): Wanted {
  let before: Answer | undefined;
  for (const member of members.all) {
    if (members.isUnasked(member))
      return start([member], before === undefined ? input : afterAnswer(input, before));
    if (members.isAtWork(member)) return start([], input);
    const fault = on_failure === 'fail' ? faultOf(members, [member]) : undefined;
    if (fault !== undefined) return fault;
    before = members.answers.get(member.name) ?? before;
  }
  return before === undefined ? allFailed(members, members.all) : done(before);
}

function managed(members: Members, input: string): Wanted {
  const manager = members.all.find(({ isManager }) => isManager);
  return manager === undefined ? failed('it has no manager') : askedAlone(members, manager, input);
}

function askedAlone(members: Members, member: FleetMember, input: string): Wanted {
  if (members.isUnasked(member)) return start([member], input);
  const answer = members.answers.get(member.name);
  if (answer !== undefined) return done(answer);
  return members.isAtWork(member) ? start([], input) : allFailed(members, [member]);
}

/** Those of one tier are asked side by side, and the next one is told what they have said. */
function tiers(
  settings: FleetSettings,
  by: Consensus | 'merge' | 'manager',
  members: Members,
  first: string,
): Wanted {
  const decider = deciderOf(members, by);
  const asked = members.all.filter((member) => member !== decider);
  const numbers = [...new Set(asked.map(({ tier }) => tier))].sort((a, b) => a - b);
  let input = first;
  for (const number of numbers) {
    const tier = asked.filter((member) => member.tier === number);
    const isLast = number === numbers.at(-1);
    if (isLast && typeof by === 'object') return voted(by, tier, members, input, decider);
    const fault = settings.on_failure === 'fail' ? faultOf(members, tier) : undefined;
    if (fault !== undefined) return fault;
    const unasked = tier.filter(members.isUnasked);
    if (unasked.length > 0 || !tier.every(members.isOver)) return start(unasked, input);
    const answers = members.answersOf(tier);
    if (answers.length === 0) return allFailed(members, tier);
    if (isLast && decider !== undefined) return askedAlone(members, decider, withAnswers(input, answers));
    if (isLast) return merged(answers);
    input = withAnswers(first, answers);
  }
  return failed('it has no members');
}

/** Who is asked last, and is told what all others have said. */
function deciderOf({ all }: Members, by: Consensus | 'merge' | 'manager'): FleetMember | undefined {
  if (by === 'manager') return all.find(({ isManager }) => isManager);
  if (typeof by !== 'object' || by.on_none === 'fail') return undefined;
  const { agent } = by.on_none;
  return all.find(({ name }) => name === agent);
}

function voted(
  { field, algorithm, min_votes, on_none }: Consensus,
  voters: readonly FleetMember[],
  members: Members,
  input: string,
  decider: FleetMember | undefined,
): Wanted {
  const votes = new Map(
    voters.filter(members.isOver).map(({ name }) => [name, voteOf(members.answers.get(name), field)]),
  );
  const verdict = verdictOf(voters, votes, { algorithm, minVotes: min_votes });
  if (verdict.kind === 'open') return start(voters.filter(members.isUnasked), input);
  const ballot = ballotText(voters, members, field);
  if (verdict.kind === 'decided')
    return done({ text: plain(verdict.value), data: decidedData(field, verdict, voters, votes) });
  if (on_none === 'fail' || decider === undefined)
    return failed(`no consensus on ${field}: ${verdict.why} (${ballot})`);
  return askedAlone(members, decider, withAnswers(input, members.answersOf(voters)));
}

/** A word as it is, anything else as JSON. */
function plain(json: string): string {
  const value = JSON.parse(json) as unknown;
  return typeof value === 'string' ? value : json;
}

/** What was voted, with the votes of each. */
function decidedData(
  field: string,
  { value }: Extract<Verdict, { readonly kind: 'decided' }>,
  voters: readonly FleetMember[],
  votes: ReadonlyMap<string, Vote>,
) {
  const cast = voters.flatMap(({ name }) => {
    const vote = votes.get(name);
    return vote === undefined ? [] : [[name, JSON.parse(vote) as unknown] as const];
  });
  return { [field]: JSON.parse(value) as unknown, votes: Object.fromEntries(cast) };
}

/** One whose answer has no such field has given none: schemas see to that, where a model keeps to them. */
function voteOf(answer: Answer | undefined, field: string): Vote {
  const { data } = answer ?? {};
  if (typeof data !== 'object' || data === null || !Object.hasOwn(data, field)) return undefined;
  return canonicalJson((data as Readonly<Record<string, unknown>>)[field]);
}

function ballotText(voters: readonly FleetMember[], members: Members, field: string): string {
  return voters
    .map((voter) => {
      const { name } = voter;
      if (!members.isOver(voter)) return `${name}: not needed`;
      const reason = members.reasons.get(name);
      return `${name}: ${voteOf(members.answers.get(name), field) ?? `no vote, ${reason ?? `its answer has no ${field}`}`}`;
    })
    .join('; ');
}

function merged(answers: readonly Answer[]): Wanted {
  const text = answers.map((answer) => `**${answer.name}**\n${answer.text}`).join('\n\n');
  return {
    end: {
      how: 'done',
      text,
      data: Object.fromEntries(answers.map(({ name, text: said, data }) => [name, data ?? said])),
    },
  };
}

const start = (members: readonly FleetMember[], input: string): Wanted => ({
  starts: members.map(({ name }) => ({ member: name, input })),
});

const done = ({ text, data }: Pick<Answer, 'text' | 'data'>): Wanted => ({
  end: { how: 'done', text, data },
});

const failed = (reason: string): Wanted => ({ end: { how: 'failed', reason } });

function faultOf({ reasons }: Members, members: readonly FleetMember[]): Wanted | undefined {
  const broken = members.find(({ name }) => reasons.has(name));
  return broken && failed(`${broken.name}: ${reasons.get(broken.name)}`);
}

function allFailed({ reasons }: Members, members: readonly FleetMember[]): Wanted {
  const why = members.map(({ name }) => `${name}: ${reasons.get(name) ?? 'it was not needed'}`);
  return failed(why.length === 1 ? (why[0] ?? '') : `all of its members have failed (${why.join('; ')})`);
}
