// How far a flow has come, folded from its journal row by row. Everything the next step needs (ready and working nodes,
// failures, outputs) is kept up to date by `apply`, so a row costs the same after 10 rows and after 1,000.
//
// FLW1  the same rows give the same state and the same next things; nothing that has an end is begun again.
// FLW2  a node that fails leads to its `onError`; without one the flow has failed, or the loop it stands in.
// FLW3  a turn of a loop begins when the one before is over. The loop ends when whoever carries it out says so, or a node in it fails.
// FLW4  a flow ends: with its `End`, with a failure, or when nothing is left to do. After that nothing begins.
// FLW5  so many nodes and turns are begun in one run, and no more.

import { type FlowGraph, type GraphNode, nodePath, pathInTurn } from './graph.ts';
import { GraphState, type NodeState } from './graph-state.ts';
import type { FlowRow } from './rows.ts';

export const MAX_STEPS = 1_000;

export type FlowEnd =
  /** `at` is the `End` that was reached; undefined: all nodes have come to their end. */
  | { readonly how: 'done'; readonly at: string | undefined }
  | { readonly how: 'failed'; readonly at: string | undefined; readonly reason: string };

export interface FlowNext {
  /** Paths of nodes whose work is to begin. */
  readonly starts: readonly string[];
  /** Loops that are to say whether there is a turn of that number, and what it is about. */
  readonly turns: readonly { readonly path: string; readonly n: number }[];
  /** What follows from what is there; to be kept before anything else. */
  readonly rows: readonly FlowRow[];
  /** Nothing more is begun. */
  readonly end: FlowEnd | undefined;
}

interface Scope {
  readonly state: GraphState;
  /** What stands before the ids of its nodes. */
  readonly prefix: string;
  /** By the ids of its nodes. They end with the turn: the result of a loop is the output of the loop. */
  readonly outputs: Map<string, unknown>;
}

interface Turn extends Scope {
  readonly n: number;
}

export class FlowState {
  readonly #root: Scope;
  /** The turns that run, or ran last, by the paths of their loops. */
  readonly #turns = new Map<string, Turn>();
  #steps = 0;
  #end: FlowEnd | undefined;

  constructor(graph: FlowGraph) {
    this.#root = { state: new GraphState(graph), prefix: '', outputs: new Map() };
  }

  /** Output of a node; undefined for one that has not ended well, or whose turn is over. */
  outputOf(path: string): unknown {
    const found = this.#find(path);
    return found?.scope.outputs.get(found.id);
  }

  /** Undefined for a node of a turn that is over, or has not begun. */
  stateOf(path: string): { readonly state: NodeState; readonly why: string | undefined } | undefined {
    const found = this.#find(path);
    if (found === undefined) return undefined;
    const { value, context } = found.scope.state.of(found.id);
    return { state: value, why: context.why };
  }

  /** When a node that waits goes on, in epoch ms, and how often it was begun. */
  progressOf(path: string): { readonly until: number | undefined; readonly attempts: number } | undefined {
    const found = this.#find(path);
    if (found === undefined) return undefined;
    const { until, attempts } = found.scope.state.of(found.id).context;
    return { until, attempts };
  }

  /** Paths of nodes that have begun and not ended. */
  get working(): readonly string[] {
    return this.#scopes().flatMap(({ state, prefix }) => state.working.map(({ id }) => prefix + id));
  }

  /** The turn of that loop that runs, or ran last, with the nodes that nothing follows. */
  lastTurn(
    loop: string,
  ):
    | { readonly n: number; readonly end: string | undefined; readonly leaves: readonly string[] }
    | undefined {
    const turn = this.#turns.get(loop);
    if (turn === undefined) return undefined;
    const { n, state, prefix } = turn;
    const end = state.end && prefix + state.end.id;
    return { n, end, leaves: state.nodes.filter(({ id }) => state.isLeaf(id)).map(({ id }) => prefix + id) };
  }

  /** Rows of anything else are passed over. */
  apply(row: FlowRow): void {
    const found = this.#find(row.in);
    if (found === undefined) return;
    const { scope, id } = found;
    const { state } = scope;
    switch (row.kind) {
      case 'entered':
        this.#steps += 1;
        state.tell(id, { type: 'entered' });
        break;
      case 'waits':
        state.tell(id, { type: 'waits', until: row.until });
        break;
      case 'again':
        state.tell(id, { type: 'again', until: row.until, reason: row.reason });
        break;
      case 'turn':
        this.#steps += 1;
        state.tell(id, { type: 'turn', n: row.n });
        this.#beginTurn(row, state.nodeOf(id));
        break;
      case 'retried':
        state.tell(id, { type: 'retried' });
        break;
      case 'left':
        scope.outputs.set(id, row.output);
        state.tell(id, { type: 'left' }, row.taken);
        if (state.nodeOf(id).inside !== undefined) this.#forgetTurns(row.in);
        if (row.isEnd === true) this.#endWith(scope, id, row.in);
        break;
      case 'failed':
        state.tell(id, { type: 'failed', reason: row.reason });
        if (state.nodeOf(id).inside !== undefined) this.#forgetTurns(row.in);
        if (scope === this.#root && state.nodeOf(id).onError === undefined)
          this.#end ??= { how: 'failed', at: row.in, reason: row.reason };
    }
  }

  next(): FlowNext {
    const end = this.#end ?? (this.#root.state.isOver ? { how: 'done' as const, at: undefined } : undefined);
    if (end !== undefined) return { ...NOTHING, end };
    const failed = [...this.#failedLoops()];
    if (failed.length > 0) return { ...NOTHING, rows: failed };
    if (this.#steps >= MAX_STEPS && this.#hasMore())
      return {
        ...NOTHING,
        end: { how: 'failed', at: undefined, reason: `it has begun ${MAX_STEPS} steps and has not ended` },
      };
    return { ...NOTHING, starts: this.#starts(), turns: this.#nextTurns() };
  }

  #hasMore(): boolean {
    return this.#starts().length > 0 || this.#nextTurns().length > 0;
  }

  #starts(): readonly string[] {
    return this.#scopes().flatMap(({ state, prefix }) => state.ready.map(({ id }) => prefix + id));
  }

  /** Of loops that work: the turn after the one that is over. */
  #nextTurns(): FlowNext['turns'] {
    return this.#scopes().flatMap(({ state, prefix }) =>
      state.working.flatMap(({ id, inside }) => {
        if (inside === undefined) return [];
        const path = prefix + id;
        const turn = this.#turns.get(path);
        if (turn === undefined) return [{ path, n: 1 }];
        return turn.state.isOver ? [{ path, n: turn.n + 1 }] : [];
      }),
    );
  }

  /** Loops in whose turns a node has failed, and nothing goes on after that. */
  *#failedLoops(): Iterable<FlowRow> {
    for (const [loop, { state, prefix }] of this.#turns) {
      if (state.fatal === undefined) continue;
      const { id } = state.fatal;
      const { why = 'it has failed' } = state.of(id).context;
      yield { kind: 'failed', in: loop, reason: `${prefix}${id}: ${why}` };
    }
  }

  #beginTurn({ in: loop, n }: Extract<FlowRow, { kind: 'turn' }>, { inside }: GraphNode): void {
    if (inside === undefined) return;
    this.#forgetTurns(loop);
    const prefix = pathInTurn(loop, n, '');
    this.#turns.set(loop, { n, state: new GraphState(inside), prefix, outputs: new Map() });
  }

  #endWith(scope: Scope, id: string, path: string): void {
    scope.state.endWith(id);
    for (const { id: each, inside } of scope.state.nodes)
      if (inside !== undefined) this.#forgetTurns(scope.prefix + each);
    if (scope === this.#root) this.#end ??= { how: 'done', at: path };
  }

  /** The turn of that loop, and of loops within it. */
  #forgetTurns(loop: string): void {
    for (const path of [...this.#turns.keys()])
      if (path === loop || path.startsWith(`${loop}#`)) this.#turns.delete(path);
  }

  #scopes(): readonly Scope[] {
    return this.#turns.size === 0 ? [this.#root] : [this.#root, ...this.#turns.values()];
  }

  #find(path: string): { readonly scope: Scope; readonly id: string } | undefined {
    const parsed = nodePath(path);
    if (parsed === undefined) return undefined;
    const { turns, id } = parsed;
    let scope: Scope = this.#root;
    for (const { loop, turn } of turns) {
      const inside = this.#turns.get(scope.prefix + loop);
      if (inside?.n !== turn) return undefined;
      scope = inside;
    }
    return scope.state.has(id) ? { scope, id } : undefined;
  }
}

const NOTHING: FlowNext = { starts: [], turns: [], rows: [], end: undefined };
