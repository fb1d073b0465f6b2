// How far the members of a fleet have come, for people: worked out of the journal of its run, row by row, against the definition that the
// run began with.

import type { Step } from '../../store/run.ts';
import { type PlainRow, plainRow } from './plain-rows.ts';
import type { Excerpt } from './shown-step.ts';

/** Of the answer of one member, in UTF-16 units. */
const SHOWN_ANSWER = 500;

export type MemberState = 'idle' | 'working' | 'waiting' | 'done' | 'failed' | 'dropped';

export interface RunMember {
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
}

const states: Readonly<Record<string, MemberState>> = {
  entered: 'working',
  parked: 'waiting',
  ended: 'done',
  failed: 'failed',
  dropped: 'dropped',
};

/** Told the rows of the journal of a fleet, in order. */
export class RunMembers {
  readonly #members: Map<string, RunMember>;
  readonly #excerpt: Excerpt;

  /** `definition` is the member of its row `fleet`. */
  constructor(definition: string, excerpt: Excerpt) {
    this.#members = new Map(namesIn(definition).map((name) => [name, unasked(name)]));
    this.#excerpt = excerpt;
  }

  add({ at, text }: Pick<Step, 'at' | 'text'>): void {
    const row = plainRow(text);
    const name = typeof row.in === 'string' ? row.in.split('/')[0] : undefined;
    const before = name === undefined ? undefined : this.#members.get(name);
    if (before === undefined) return;
    if (row.kind === 'retried' && row.in === name && before.state !== 'done') {
      this.#members.set(before.name, {
        ...unasked(before.name),
        state: 'working',
        startedAt: before.startedAt,
      });
      return;
    }
    if (before.endedAt !== undefined) return;
    const state = (row.in === name ? states[String(row.kind)] : undefined) ?? 'working';
    this.#members.set(before.name, moved(before, row, at, state, this.#excerpt));
  }

  /** In the order of the definition. `isOver`: the run is. */
  list(isOver = false): readonly RunMember[] {
    return [...this.#members.values()].map((member) =>
      isOver && (member.state === 'working' || member.state === 'waiting')
        ? { ...member, state: 'dropped' }
        : member,
    );
  }
}

const unasked = (name: string): RunMember => ({
  ...{ name, state: 'idle', why: undefined, output: undefined },
  ...{ startedAt: undefined, endedAt: undefined, tookMs: undefined },
});

function moved(
  before: RunMember,
  row: PlainRow,
  at: number,
  state: MemberState,
  excerpt: Excerpt,
): RunMember {
  const startedAt = before.startedAt ?? at;
  if (state === 'working' || state === 'waiting') return { ...before, state, startedAt };
  return {
    ...{ name: before.name, state, startedAt, endedAt: at, tookMs: at - startedAt },
    why: typeof row.reason === 'string' ? excerpt(row.reason, SHOWN_ANSWER) : undefined,
    output: typeof row.text === 'string' ? excerpt(row.text, SHOWN_ANSWER) : undefined,
  };
}

/** `agents`, or as others call them `members`. */
function namesIn(definition: string): readonly string[] {
  const { agents, members = agents } = plainRow(definition);
  if (!Array.isArray(members)) return [];
  return members.flatMap((each: unknown) => {
    const { name } = typeof each === 'object' && each !== null ? (each as PlainRow) : {};
    return typeof name === 'string' ? [name] : [];
  });
}
