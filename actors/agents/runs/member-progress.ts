// Progress of fleet members, for views: computed from the journal row by row, for the running fleet and for
// fleets called by flow nodes. Texts are redacted and truncated. A run shows up to MAX_MEMBERS members.

import type { DefinedFleet } from './fleet-definition.ts';
import type { MemberState } from './state.ts';
import type { Excerpt, PlainRow } from './step-view.ts';

/** Limit per member's answer, in UTF-16 units. */
const MAX_ANSWER = 500;
const MAX_VOTE = 200;
/** Fleets in loops add members repeatedly. */
const MAX_MEMBERS = 2_000;

export interface RunMember {
  /** `security`, or `review/security` for a fleet called by a node. */
  readonly path: string;
  readonly name: string;
  readonly state: MemberState;
  /** Reason of the failure. */
  readonly why: string | undefined;
  /** Epoch ms. */
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** Includes waiting time. */
  readonly tookMs: number | undefined;
  /** Beginning of the answer, redacted. */
  readonly output: string | undefined;
  /** JSON text of the vote, redacted. */
  readonly vote: string | undefined;
}

const states: Readonly<Record<string, MemberState>> = {
  entered: 'working',
  parked: 'waiting',
  ended: 'done',
  failed: 'failed',
  dropped: 'dropped',
};

export class RunMembers {
  readonly #excerpt: Excerpt;
  readonly #shownChars: number;
  /** Voting field of each fleet, by the path of the calling node with a slash; '' for the running fleet. */
  readonly #fields = new Map<string, string | undefined>();
  readonly #members = new Map<string, RunMember>();

  constructor(excerpt: Excerpt, shownChars = MAX_ANSWER) {
    this.#excerpt = excerpt;
    this.#shownChars = shownChars;
  }

  /** `prefix` precedes the names of the members in the paths of rows. */
  begin(prefix: string, { vote, members }: Pick<DefinedFleet, 'vote' | 'members'>): void {
    this.#fields.set(prefix, vote?.field);
    for (const { name } of members) {
      if (this.#members.size >= MAX_MEMBERS) return;
      const path = prefix + name;
      if (!this.#members.has(path)) this.#members.set(path, idle(path, name));
    }
  }

  /** Adds the next row. `path` is the part of the run that wrote it. */
  add(path: string, row: PlainRow, at: number): void {
    for (const [prefix, field] of this.#fields) {
      if (!path.startsWith(prefix)) continue;
      const [name = ''] = path.slice(prefix.length).split('/');
      const before = this.#members.get(prefix + name);
      if (before === undefined) continue;
      if (row.kind === 'retried' && path === before.path && before.state !== 'done') {
        const { startedAt } = before;
        this.#members.set(path, { ...idle(path, before.name), startedAt, state: 'working' });
        continue;
      }
      // A manager may call a member as a tool. Rows of these questions have paths below the member's path;
      // each question has its result, and more questions may follow.
      const isQuestion = path !== before.path;
      if (before.endedAt !== undefined && !isQuestion) continue;
      // A row of kind `kept` only stores a state. Any other row means that the member works.
      const state = states[String(row.kind)] ?? (row.kind === 'kept' ? before.state : 'working');
      this.#members.set(before.path, this.#advance(before, row, at, state, field));
    }
  }

  /** Removes previous loop turns. */
  removeTurns(loop: string): void {
    for (const map of [this.#members, this.#fields])
      for (const path of [...map.keys()]) if (path.startsWith(`${loop}#`)) map.delete(path);
  }

  /**
   * Returns the members in definition order. `isOver` returns true if the run or the calling node has
   * finished.
   */
  list(isOver: (path: string) => boolean): readonly RunMember[] {
    return [...this.#members.values()].map((member) => {
      const isAtWork = member.state === 'working' || member.state === 'waiting';
      return isAtWork && isOver(member.path) ? { ...member, state: 'dropped' } : member;
    });
  }

  #advance(
    before: RunMember,
    row: PlainRow,
    at: number,
    state: MemberState,
    field: string | undefined,
  ): RunMember {
    const startedAt = before.startedAt ?? at;
    if (state === 'idle' || state === 'working' || state === 'waiting')
      return { ...before, state, startedAt, endedAt: undefined, tookMs: undefined };
    return {
      ...before,
      state,
      startedAt,
      endedAt: at,
      tookMs: at - startedAt,
      why: this.#excerptOf(row.reason),
      output: this.#excerptOf(row.text),
      vote: state === 'done' ? this.#vote(row.data, field) : undefined,
    };
  }

  #excerptOf(text: unknown): string | undefined {
    return typeof text === 'string' ? this.#excerpt(text, this.#shownChars) : undefined;
  }

  #vote(data: unknown, field: string | undefined): string | undefined {
    if (field === undefined || typeof data !== 'object' || data === null) return undefined;
    const value = Object.hasOwn(data, field) ? (data as PlainRow)[field] : undefined;
    return value === undefined ? undefined : this.#excerpt(JSON.stringify(value), MAX_VOTE);
  }
}

const idle = (path: string, name: string): RunMember => ({
  path,
  name,
  state: 'idle',
  why: undefined,
  output: undefined,
  vote: undefined,
  startedAt: undefined,
  endedAt: undefined,
  tookMs: undefined,
});
