// Progress of fleet members, computed from the journal of a run row by row: members of the fleet that runs, and of fleets
// that nodes of a flow ask.
//
// Texts are redacted and cut before they are kept, and at most MAX_MEMBERS members are kept per run.

import type { DefinedFleet } from './defined-fleet.ts';
import type { MemberState } from './run-state.ts';
import type { Excerpt, PlainRow } from './shown-step.ts';

/** Of the answer of one member, in UTF-16 units. */
const SHOWN_ANSWER = 500;
const MAX_VOTE = 200;
/** A fleet in a loop adds its members in each turn. */
const MAX_MEMBERS = 2_000;

export interface RunMember {
  /** `security`; of a fleet that a node asks, `review/security`. */
  readonly path: string;
  readonly name: string;
  readonly state: MemberState;
  /** Why it failed. */
  readonly why: string | undefined;
  /** Epoch ms. */
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** Waits included. */
  readonly tookMs: number | undefined;
  /** The beginning of its answer, without secrets. */
  readonly output: string | undefined;
  /** JSON text of its vote, without secrets. */
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
  /** Fields of votes by the path of the asking node and a slash; '' for the fleet that runs. */
  readonly #fields = new Map<string, string | undefined>();
  readonly #members = new Map<string, RunMember>();

  constructor(excerpt: Excerpt, shownChars = SHOWN_ANSWER) {
    this.#excerpt = excerpt;
    this.#shownChars = shownChars;
  }

  /** `prefix` precedes the names of its members in the paths of rows. */
  begin(prefix: string, { vote, members }: Pick<DefinedFleet, 'vote' | 'members'>): void {
    this.#fields.set(prefix, vote?.field);
    for (const { name } of members) {
      if (this.#members.size >= MAX_MEMBERS) return;
      const path = prefix + name;
      if (!this.#members.has(path)) this.#members.set(path, idle(path, name));
    }
  }

  /** Takes the next row; `path` is the part of the run that wrote it. */
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
      // Questions of a manager have paths below its own; each has an end, and another may follow.
      const isQuestion = path !== before.path;
      if (before.endedAt !== undefined && !isQuestion) continue;
      // Any other row means that the member works.
      const state = states[String(row.kind)] ?? (row.kind === 'kept' ? before.state : 'working');
      this.#members.set(before.path, this.#moved(before, row, at, state, field));
    }
  }

  /** Forgets all turns of a loop but the one that begins. */
  forgetTurns(loop: string): void {
    for (const map of [this.#members, this.#fields])
      for (const path of [...map.keys()]) if (path.startsWith(`${loop}#`)) map.delete(path);
  }

  /** Returns the members in the order of the definitions. `isOver`: the run or the asking node has ended. */
  list(isOver: (path: string) => boolean): readonly RunMember[] {
    return [...this.#members.values()].map((member) => {
      const isAtWork = member.state === 'working' || member.state === 'waiting';
      return isAtWork && isOver(member.path) ? { ...member, state: 'dropped' } : member;
    });
  }

  #moved(
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
      ...{ state, startedAt, endedAt: at, tookMs: at - startedAt },
      why: this.#shown(row.reason),
      output: this.#shown(row.text),
      vote: state === 'done' ? this.#vote(row.data, field) : undefined,
    };
  }

  #shown(text: unknown): string | undefined {
    return typeof text === 'string' ? this.#excerpt(text, this.#shownChars) : undefined;
  }

  #vote(data: unknown, field: string | undefined): string | undefined {
    if (field === undefined || typeof data !== 'object' || data === null) return undefined;
    const value = Object.hasOwn(data, field) ? (data as PlainRow)[field] : undefined;
    return value === undefined ? undefined : this.#excerpt(JSON.stringify(value), MAX_VOTE);
  }
}

const idle = (path: string, name: string): RunMember => ({
  ...{ path, name, state: 'idle', why: undefined, output: undefined, vote: undefined },
  ...{ startedAt: undefined, endedAt: undefined, tookMs: undefined },
});
