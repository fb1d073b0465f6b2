// How far the nodes of a flow have come, for people: worked out of the journal of its run, row by row, against the definition that the
// run began with. What the engine makes of the same rows (machines/flow-run/flow-state.ts) is what is shown here, with times and outputs.
//
// RND1  of a loop the turn is shown that runs, or ran last: also when the loop is over.
// RND2  of a run that is over no node works or waits: it was dropped.
// RND3  only redacted and cut texts stay in memory. Rows without news about a node lose everything except path, kind and time.

import { FlowState } from '../../../machines/flow-run/flow-state.ts';
import { nodePath, pathInTurn } from '../../../machines/flow-run/graph.ts';
import type { NodeState } from '../../../machines/flow-run/graph-state.ts';
import { rowsInForce } from '../../../machines/flow-run/retried.ts';
import type { FlowRow } from '../../../machines/flow-run/rows.ts';
import { type DefinedGraph, type DefinedNode, definedGraph, membersOf, takenIn } from './defined-graph.ts';
import type { Excerpt, PlainRow } from './shown-step.ts';

/** Of the output of one node, in UTF-16 units. */
const SHOWN_OUTPUT = 500;

export interface RunNode {
  /** As rows name it: `check`, `poll#3/check`. */
  readonly path: string;
  /** The same without the numbers of turns, as the definition has it: `poll/check`. */
  readonly place: string;
  readonly id: string;
  readonly type: DefinedNode['type'];
  readonly state: NodeState;
  /** How often it was begun. */
  readonly attempts: number;
  /** Of a loop: the turn that runs, or ran last. */
  readonly turn: number | undefined;
  /** Epoch ms; of one that waits for a time. */
  readonly until: number | undefined;
  /** It waits for people. */
  readonly isForPeople: boolean;
  /** Why it failed last, or was skipped. */
  readonly why: string | undefined;
  /** Epoch ms, of the first attempt. */
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** Waits included. */
  readonly tookMs: number | undefined;
  /** Redacted beginning of the input: the request to an agent or fleet, or the list for a loop. */
  readonly input: string | undefined;
  /** Redacted beginning of the output: text, or JSON. */
  readonly output: string | undefined;
  /** Approval id, for type Approval. */
  readonly approval: string | undefined;
  /** Nodes to which its connections that were taken lead. */
  readonly taken: readonly string[] | undefined;
}

interface Noted {
  input?: string | undefined;
  approval?: string | undefined;
  startedAt?: number | undefined;
  endedAt?: number | undefined;
  output?: string | undefined;
  taken?: readonly string[] | undefined;
  waits?: { readonly until: number | undefined; readonly isForPeople: boolean } | undefined;
}

interface Kept {
  readonly state: NodeState;
  readonly attempts: number;
  readonly why: string | undefined;
}

interface ToldRow extends PlainRow {
  readonly in: string;
  readonly at: number;
}

const NO_GRAPH: DefinedGraph = { nodes: [], connections: [], graph: { nodes: [], connections: [] } };
const UNTOUCHED: Kept = { state: 'idle', attempts: 0, why: undefined };
const ends: ReadonlySet<unknown> = new Set(['left', 'failed']);
/** Rows that change the state of a node. */
const flowKinds: ReadonlySet<unknown> = new Set(['again', 'waits', 'parked', 'turn', 'failed', 'retried']);
const MAX_ID = 100;

/** Nodes of a flow, from the rows of its journal. */
export class RunNodes {
  readonly #defined: DefinedGraph;
  #state: FlowState;
  readonly #excerpt: Excerpt;
  readonly #shownChars: number;
  /** All of them: a failure may be taken back later. */
  readonly #rows: ToldRow[] = [];
  readonly #noted = new Map<string, Noted>();
  /** Of turns that the state has forgotten. */
  readonly #kept = new Map<string, Kept>();
  /** The last of each loop, by its path. */
  readonly #turns = new Map<string, number>();

  constructor(definition: string, excerpt: Excerpt, shownChars = SHOWN_OUTPUT) {
    this.#defined = definedGraph(definition) ?? NO_GRAPH;
    this.#state = new FlowState(this.#defined.graph);
    this.#excerpt = excerpt;
    this.#shownChars = shownChars;
  }

  /** Adds the next row of the journal, written at `at` (epoch ms). */
  add(row: PlainRow, at: number): void {
    if (typeof row.in !== 'string') return;
    const told = this.#shortened(row, row.in, at);
    this.#rows.push(told);
    if (row.kind === 'retried') this.#beginAgain();
    else this.#take(told);
  }

  #shortened(row: PlainRow, path: string, at: number): ToldRow {
    const { kind } = row;
    if (kind === 'left') return { ...row, in: path, at, output: this.#text(row.output) };
    if (flowKinds.has(kind)) {
      const { reason } = row;
      return { ...row, in: path, at, ...(typeof reason === 'string' && { reason: this.#text(reason) }) };
    }
    if (nodePath(path) === undefined) return { in: path, kind, at };
    return { in: path, kind, at, input: this.#inputIn(row), approval: approvalIn(row) };
  }

  #inputIn({ kind, items, messages, input }: PlainRow): string | undefined {
    if (kind === 'entered' && Array.isArray(items)) return this.#text(items);
    if (kind === 'fleet' && typeof input === 'string') return this.#text(input);
    const last: unknown = kind === 'begun' && Array.isArray(messages) ? messages.at(-1) : undefined;
    const { text } = membersOf(last);
    return typeof text === 'string' ? this.#text(text) : undefined;
  }

  /** Failures were taken back: what has come of them did not come. */
  #beginAgain(): void {
    this.#state = new FlowState(this.#defined.graph);
    for (const map of [this.#noted, this.#kept, this.#turns]) map.clear();
    const inForce = rowsInForce(this.#rows as unknown as readonly FlowRow[]);
    for (const row of inForce as unknown as readonly ToldRow[]) this.#take(row);
  }

  #take(row: ToldRow): void {
    // The state forgets turns when their loop ends, or an `End` around them.
    if (ends.has(row.kind) && (this.#turns.has(row.in) || row.isEnd === true)) this.#keepTurns();
    if (nodePath(row.in) !== undefined) this.#state.apply(row as unknown as FlowRow);
    this.#note(row);
  }

  /** In the order of the definition, those of a loop after it. `isOver`: the run is. */
  list(isOver = false): readonly RunNode[] {
    return [...this.#listed(this.#defined.nodes, '', '', isOver)];
  }

  *#listed(nodes: readonly DefinedNode[], prefix: string, place: string, isOver: boolean): Iterable<RunNode> {
    for (const { id, type, inside } of nodes) {
      const path = prefix + id;
      const turn = inside === undefined ? undefined : this.#turns.get(path);
      const shown = this.#shown(path, isOver);
      const approval = type === 'Approval' ? shown.approval : undefined;
      yield { path, place: place + id, id, type, turn, ...shown, approval };
      const isInner = isOver || !['working', 'waiting'].includes(shown.state);
      if (inside !== undefined)
        yield* this.#listed(inside.nodes, pathInTurn(path, turn ?? 1, ''), `${place}${id}/`, isInner);
    }
  }

  #shown(path: string, isOver: boolean): Omit<RunNode, 'path' | 'place' | 'id' | 'type' | 'turn'> {
    const noted = this.#noted.get(path) ?? {};
    const { input, approval, startedAt, output, taken, waits } = noted;
    const { state: reached, attempts, why } = this.#reached(path) ?? UNTOUCHED;
    const isAtWork = reached === 'working' || reached === 'waiting';
    const state = !isAtWork ? reached : isOver ? 'dropped' : waits === undefined ? reached : 'waiting';
    const { until, isForPeople = false } = (state === 'waiting' ? waits : undefined) ?? {};
    const end = state === 'done' || state === 'failed' ? noted.endedAt : undefined;
    const tookMs = startedAt === undefined || end === undefined ? undefined : end - startedAt;
    return {
      ...{ state, attempts, until, isForPeople, startedAt, endedAt: end, tookMs, input, approval },
      ...(state === 'done' ? { output, taken } : { output: undefined, taken: undefined }),
      why: why && this.#excerpt(why, this.#shownChars),
    };
  }

  #reached(path: string): Kept | undefined {
    const found = this.#state.stateOf(path);
    if (found === undefined) return this.#kept.get(path);
    const { attempts = 0 } = this.#state.progressOf(path) ?? {};
    return { ...found, attempts };
  }

  #note(row: ToldRow): void {
    const { in: path, at } = row;
    const before = this.#noted.get(path);
    const { input = before?.input, approval = before?.approval } = row as Noted;
    const noted = { ...before, input, approval };
    switch (row.kind) {
      case 'entered':
        this.#noted.set(path, {
          ...noted,
          startedAt: noted.startedAt ?? at,
          endedAt: undefined,
          waits: undefined,
        });
        return;
      case 'again':
      case 'waits':
      case 'parked':
        this.#noted.set(path, {
          ...noted,
          waits: { until: numberIn(row.until), isForPeople: row.isForPeople === true },
        });
        return;
      case 'turn':
        if (typeof row.n === 'number') this.#turnBegins(path, row.n);
        return;
      case 'left':
      case 'failed':
        this.#noted.set(path, {
          ...{ input, approval, startedAt: noted.startedAt, endedAt: at },
          ...(row.kind === 'left'
            ? { output: row.output as string | undefined, taken: takenIn(this.#defined, path, row.taken) }
            : {}),
        });
        return;
      default:
        // Whatever else a part writes: it is at work again.
        if ((before?.waits ?? input ?? approval) !== undefined)
          this.#noted.set(path, { ...noted, waits: undefined });
    }
  }

  /** What there was of turns before is not shown any more. */
  #turnBegins(loop: string, n: number): void {
    for (const map of [this.#noted, this.#kept, this.#turns])
      for (const path of [...map.keys()]) if (path.startsWith(`${loop}#`)) map.delete(path);
    this.#turns.set(loop, n);
  }

  #text(value: unknown): string | undefined {
    if (value === undefined || value === null) return undefined;
    return this.#excerpt(typeof value === 'string' ? value : JSON.stringify(value), this.#shownChars);
  }

  /** Before a row by which the state may forget them. */
  #keepTurns(): void {
    for (const [loop, n] of this.#turns) {
      if (this.#state.lastTurn(loop)?.n !== n) continue;
      for (const { id } of this.#nodesIn(loop)) {
        const path = pathInTurn(loop, n, id);
        const reached = this.#reached(path);
        if (reached !== undefined) this.#kept.set(path, reached);
      }
    }
  }

  #nodesIn(loop: string): readonly DefinedNode[] {
    const parsed = nodePath(loop);
    let nodes = this.#defined.nodes;
    for (const id of [...(parsed?.turns.map((turn) => turn.loop) ?? []), parsed?.id])
      nodes = nodes.find((each) => each.id === id)?.inside?.nodes ?? [];
    return nodes;
  }
}

const numberIn = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

const approvalIn = ({ kind, kept }: PlainRow): string | undefined =>
  kind === 'kept' && typeof kept === 'string' && kept.length <= MAX_ID ? kept : undefined;
