// Flow run state, computed from the journal row by row: the same rows yield the same state and next step.
// `apply` updates the ready and working nodes, failures and outputs, so each row has constant cost. A
// finished node never restarts. A failed node leads to its `onError` node; without one it fails the
// surrounding loop, and outside loops the flow. Loop iterations ("turns") run in sequence; the executor
// (actors/agents/flows/run.ts) decides how many. A flow finishes by an `End`, a failure, or the last node. In
// one run up to MAX_STEPS nodes and iterations start.

import { type FlowGraph, type GraphNode, nodePath, pathInTurn } from './graph.ts';
import { GraphState, type NodeState } from './graph-state.ts';
import type { FlowRow } from './rows.ts';

export const MAX_STEPS = 1_000;

export type FlowEnd =
  /** `at` is the reached `End`; undefined if all nodes have finished. */
  | { readonly how: 'done'; readonly at: string | undefined }
  | { readonly how: 'failed'; readonly at: string | undefined; readonly reason: string };

export interface FlowNext {
  /** Paths of nodes to start. */
  readonly starts: readonly string[];
  /** Loops with their next iteration `n`, which the executor may start. */
  readonly turns: readonly { readonly path: string; readonly n: number }[];
  /** Rows derived from existing rows; to be stored first. */
  readonly rows: readonly FlowRow[];
  /** Set if the flow has finished. */
  readonly end: FlowEnd | undefined;
}

interface NodeScope {
  readonly state: GraphState;
  /** Path prefix of the node ids. */
  readonly prefix: string;
  /** Outputs by node id. Outputs inside a loop are dropped with the iteration; the loop node has its own. */
  readonly outputs: Map<string, unknown>;
}

interface Iteration extends NodeScope {
  readonly n: number;
}

export class FlowState {
  readonly #root: NodeScope;
  /** Current or last iterations, by path of the loop. */
  readonly #turns = new Map<string, Iteration>();
  #steps = 0;
  #end: FlowEnd | undefined;

  constructor(graph: FlowGraph) {
    this.#root = { state: new GraphState(graph), prefix: '', outputs: new Map() };
  }

  /** Returns a node's output; undefined before success and outside the iteration. */
  outputOf(path: string): unknown {
    const location = this.#find(path);
    return location?.scope.outputs.get(location.id);
  }

  /** Returns undefined for a node outside the current iteration. */
  stateOf(path: string): { readonly state: NodeState; readonly why: string | undefined } | undefined {
    const location = this.#find(path);
    if (location === undefined) return undefined;
    const { value, context } = location.scope.state.snapshotOf(location.id);
    return { state: value, why: context.why };
  }

  /** Returns how often a node was started, and until when it waits (epoch milliseconds). */
  progressOf(path: string): { readonly until: number | undefined; readonly attempts: number } | undefined {
    const location = this.#find(path);
    if (location === undefined) return undefined;
    const { until, attempts } = location.scope.state.snapshotOf(location.id).context;
    return { until, attempts };
  }

  /** Paths of nodes that have started and not finished. */
  get working(): readonly string[] {
    return this.#scopes().flatMap(({ state, prefix }) => state.working.map(({ id }) => prefix + id));
  }

  /** Returns the current or last loop iteration, with the leaf nodes. */
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

  /** Applies a row. Rows of unknown nodes are ignored. */
  apply(row: FlowRow): void {
    const location = this.#find(row.in);
    if (location === undefined) return;
    const { scope, id } = location;
    const { state } = scope;
    switch (row.kind) {
      case 'entered':
        this.#steps += 1;
        state.apply(id, { type: 'entered' });
        break;
      case 'waits':
        state.apply(id, { type: 'waits', until: row.until });
        break;
      case 'again':
        state.apply(id, { type: 'again', until: row.until, reason: row.reason });
        break;
      case 'turn':
        this.#steps += 1;
        state.apply(id, { type: 'turn', n: row.n });
        this.#beginTurn(row, state.nodeOf(id));
        break;
      case 'retried':
        state.apply(id, { type: 'retried' });
        break;
      case 'left':
        scope.outputs.set(id, row.output);
        state.apply(id, { type: 'left' }, row.taken);
        if (state.nodeOf(id).inside !== undefined) this.#forgetTurns(row.in);
        if (row.isEnd === true) this.#endWith(scope, id, row.in);
        break;
      case 'failed':
        state.apply(id, { type: 'failed', reason: row.reason });
        if (state.nodeOf(id).inside !== undefined) this.#forgetTurns(row.in);
        if (scope === this.#root && state.nodeOf(id).onError === undefined)
          this.#end ??= { how: 'failed', at: row.in, reason: row.reason };
    }
  }

  /** Returns the next step: the result, or rows to store, or nodes and iterations to start. */
  next(): FlowNext {
    const end = this.#end ?? (this.#root.state.isOver ? { how: 'done' as const, at: undefined } : undefined);
    if (end !== undefined) return { ...NO_STEPS, end };
    const failedRows = [...this.#failedLoops()];
    if (failedRows.length > 0) return { ...NO_STEPS, rows: failedRows };
    if (this.#steps >= MAX_STEPS && this.#hasMore())
      return {
        ...NO_STEPS,
        end: {
          how: 'failed',
          at: undefined,
          reason: `the flow has started ${MAX_STEPS} steps, the limit, without an end`,
        },
      };
    return { ...NO_STEPS, starts: this.#starts(), turns: this.#nextTurns() };
  }

  #hasMore(): boolean {
    return this.#starts().length > 0 || this.#nextTurns().length > 0;
  }

  #starts(): readonly string[] {
    return this.#scopes().flatMap(({ state, prefix }) => state.ready.map(({ id }) => prefix + id));
  }

  /** Returns the next iterations of loops with a finished iteration. */
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

  /** Yields failure rows of loops with a failed node and no `onError`. */
  *#failedLoops(): Iterable<FlowRow> {
    for (const [loop, { state, prefix }] of this.#turns) {
      if (state.fatal === undefined) continue;
      const { id } = state.fatal;
      const { why = 'failed' } = state.snapshotOf(id).context;
      yield { kind: 'failed', in: loop, reason: `${prefix}${id}: ${why}` };
    }
  }

  #beginTurn({ in: loop, n }: Extract<FlowRow, { kind: 'turn' }>, { inside }: GraphNode): void {
    if (inside === undefined) return;
    this.#forgetTurns(loop);
    const prefix = pathInTurn(loop, n, '');
    this.#turns.set(loop, { n, state: new GraphState(inside), prefix, outputs: new Map() });
  }

  #endWith(scope: NodeScope, id: string, path: string): void {
    scope.state.endWith(id);
    for (const { id: each, inside } of scope.state.nodes)
      if (inside !== undefined) this.#forgetTurns(scope.prefix + each);
    if (scope === this.#root) this.#end ??= { how: 'done', at: path };
  }

  /** Removes the iterations of the loop and nested loops. */
  #forgetTurns(loop: string): void {
    for (const path of [...this.#turns.keys()])
      if (path === loop || path.startsWith(`${loop}#`)) this.#turns.delete(path);
  }

  #scopes(): readonly NodeScope[] {
    return this.#turns.size === 0 ? [this.#root] : [this.#root, ...this.#turns.values()];
  }

  #find(path: string): { readonly scope: NodeScope; readonly id: string } | undefined {
    const parsed = nodePath(path);
    if (parsed === undefined) return undefined;
    const { turns, id } = parsed;
    let scope: NodeScope = this.#root;
    for (const { loop, turn } of turns) {
      const inside = this.#turns.get(scope.prefix + loop);
      if (inside?.n !== turn) return undefined;
      scope = inside;
    }
    return scope.state.has(id) ? { scope, id } : undefined;
  }
}

const NO_STEPS: FlowNext = { starts: [], turns: [], rows: [], end: undefined };
