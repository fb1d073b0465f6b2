// How far the members of fleets have come in one run, row by row: of the fleet that runs, and of those that nodes of a flow ask.

import type { PlainRow as Row } from '../../../actors/agents/runs/plain-rows.ts';
import type { DrawnFleet, MemberRow } from '../wire/run-wire.ts';

const MAX_TEXT = 2_000;
const MAX_VOTE = 200;
/** A fleet in a loop has as many in each turn. */
const MAX_MEMBERS = 2_000;

const states: Readonly<Record<string, string>> = {
  entered: 'working',
  parked: 'waiting',
  ended: 'done',
  failed: 'failed',
  dropped: 'dropped',
};

export class FleetMembers {
  readonly #excerpt: (text: string, maxChars: number) => string;
  /** By the path of what asks the fleet and a slash; '' for the fleet that runs. */
  readonly #fields = new Map<string, string | undefined>();
  readonly #members = new Map<string, MemberRow>();

  constructor(excerpt: (text: string, maxChars: number) => string) {
    this.#excerpt = excerpt;
  }

  /** A fleet has begun; `prefix` stands before the names of its members in the paths of rows. */
  begin(prefix: string, { vote, members }: DrawnFleet): void {
    this.#fields.set(prefix, vote?.field);
    for (const { name } of members) {
      if (this.#members.size >= MAX_MEMBERS) return;
      const path = prefix + name;
      if (!this.#members.has(path)) this.#members.set(path, { ...NOBODY, path, name });
    }
  }

  take(path: string, row: Row, at: number): void {
    for (const prefix of this.#fields.keys()) {
      if (!path.startsWith(prefix)) continue;
      const [name = ''] = path.slice(prefix.length).split('/');
      const before = this.#members.get(prefix + name);
      if (before === undefined) continue;
      if (row.kind === 'retried' && path === before.path && before.state !== 'done') {
        const { name: own, started_at } = before;
        this.#members.set(path, { ...NOBODY, path, name: own, started_at, state: 'working' });
        continue;
      }
      // Below it stand the questions of a manager: each has an end of its own, and there may be another one.
      const isQuestion = path !== before.path;
      if (before.ended_at !== null && !isQuestion) continue;
      const own = states[String(row.kind)];
      // Whatever else it writes: it is at work.
      const state = own ?? (row.kind === 'kept' ? before.state : 'working');
      this.#members.set(before.path, this.#moved(before, row, at, state, this.#fields.get(prefix)));
    }
  }

  /** Of the turns of that loop none is shown but the one that begins. */
  forgetTurns(loop: string): void {
    for (const map of [this.#members, this.#fields])
      for (const path of [...map.keys()]) if (path.startsWith(`${loop}#`)) map.delete(path);
  }

  /** `isOver`: the run is, or what asks them: nobody works for it any more. */
  list(isOver: (path: string) => boolean): readonly MemberRow[] {
    return [...this.#members.values()].map((member) => {
      const isAtWork = member.state === 'working' || member.state === 'waiting';
      return isAtWork && isOver(member.path) ? { ...member, state: 'dropped' } : member;
    });
  }

  #moved(before: MemberRow, row: Row, at: number, state: string, field: string | undefined): MemberRow {
    const started_at = before.started_at ?? at;
    if (state === 'idle' || state === 'working' || state === 'waiting')
      return { ...before, state, started_at, ended_at: null };
    return {
      ...before,
      ...{ state, started_at, ended_at: at },
      why: typeof row.reason === 'string' ? this.#excerpt(row.reason, MAX_TEXT) : null,
      output: typeof row.text === 'string' ? this.#excerpt(row.text, MAX_TEXT) : null,
      vote: state === 'done' ? this.#vote(row.data, field) : null,
    };
  }

  #vote(data: unknown, field: string | undefined): string | null {
    if (field === undefined || typeof data !== 'object' || data === null) return null;
    const value = Object.hasOwn(data, field) ? (data as Row)[field] : undefined;
    return value === undefined ? null : this.#excerpt(JSON.stringify(value), MAX_VOTE);
  }
}

const NOBODY: MemberRow = {
  ...{ path: '', name: '', state: 'idle', why: null, vote: null, output: null },
  ...{ started_at: null, ended_at: null },
};
