// Progress of flow runs, computed from the journal row by row: states of nodes, items and results of loops,
// and the values that expressions may use. The cost per row is constant.

import { celMap, celValue } from '../../../config/expressions/cel-value.ts';
import type { Flow, FlowBody, FlowNode } from '../../../config/resources/flows/flow.ts';
import { FlowState } from '../../../machines/flow-run/flow-state.ts';
import { type FlowGraph, nodePath, pathInTurn } from '../../../machines/flow-run/graph.ts';
import { fatalFailures, rowsInForce } from '../../../machines/flow-run/retry.ts';
import type { FlowRow } from '../../../machines/flow-run/rows.ts';
import type { Job } from '../handlers/handler.ts';
import { bodyIndex, flowGraph } from './graph.ts';
import { resultOfTurn } from './loop-turns.ts';
import type { Values } from './node-host.ts';
import { TurnResults } from './turn-results.ts';

/** Kinds of rows about nodes (machines/flow-run/rows.ts). */
const flowKinds: ReadonlySet<unknown> = new Set([
  'entered',
  'again',
  'waits',
  'turn',
  'left',
  'failed',
  'retried',
]);

/** Returns the rows that concern nodes. */
export function flowRows(rows: readonly Readonly<Record<string, unknown>>[]): readonly FlowRow[] {
  const isOwn = (row: Readonly<Record<string, unknown>>) =>
    flowKinds.has(row.kind) && typeof row.in === 'string' && nodePath(row.in) !== undefined;
  return rows.filter(isOwn) as unknown as readonly FlowRow[];
}

/** A node and the body that contains it. */
export interface NodePlace {
  readonly node: FlowNode;
  readonly body: FlowBody;
  /** Prefix of the ids in this body. */
  readonly prefix: string;
  /** Loops around the node, outermost first: their paths and current turns. */
  readonly loops: readonly { readonly path: string; readonly turn: number }[];
}

/** Run inputs that expressions may use. */
export interface RunInputs {
  readonly parameters: Readonly<Record<string, string>>;
  readonly input: string;
}

/** A node as seen by expressions. */
interface NodeStepView {
  readonly state: string;
  readonly output: unknown;
  readonly error: string;
}

type NodeStepViews = Readonly<Record<string, NodeStepView>>;

export class FlowProgress {
  readonly #flow: Flow;
  readonly #graph: FlowGraph;
  #state: FlowState;
  /** Results of finished turns, by loop path. */
  readonly #results = new Map<string, TurnResults>();
  readonly #items = new Map<string, readonly unknown[]>();
  /** Cached views of the most recently used body; all nodes of a turn use the same views. */
  #steps: { readonly prefix: string; readonly views: NodeStepViews } | undefined;

  constructor(flow: Flow) {
    this.#flow = flow;
    this.#graph = flowGraph(flow);
    this.#state = new FlowState(this.#graph);
  }

  get state(): FlowState {
    return this.#state;
  }

  /** Recomputes the progress from these rows. */
  recompute(rows: readonly FlowRow[]): void {
    this.#state = new FlowState(this.#graph);
    this.#results.clear();
    for (const row of rowsInForce(rows)) this.apply(row);
  }

  /** Returns the nodes whose failure stopped the flow; empty if it has not failed. */
  fatalNodes(rows: readonly FlowRow[]): readonly string[] {
    const { end } = this.#state.next();
    return end?.how === 'failed' && end.at !== undefined ? fatalFailures(this.#graph, rows) : [];
  }

  apply(row: FlowRow): void {
    if (row.kind === 'entered' && row.items !== undefined) this.#items.set(row.in, row.items);
    if (row.kind === 'turn' && row.n > 1) this.storeResult(row.in, row.n);
    this.#state.apply(row);
    if (row.kind !== 'left' && row.kind !== 'failed') return;
    this.#results.delete(row.in);
  }

  hasEnded(path: string): boolean {
    const { state } = this.#state.stateOf(path) ?? {};
    return state !== 'idle' && state !== 'working' && state !== 'waiting';
  }

  /** Returns the loop results so far. */
  resultsOf(loop: string): Readonly<TurnResults> {
    return this.#results.get(loop) ?? new TurnResults();
  }

  itemsOf(loop: string): readonly unknown[] | undefined {
    return this.#items.get(loop);
  }

  /** Stores the previous turn's result before turn `n` starts, once. */
  storeResult(loop: string, n: number): void {
    const results = this.#results.get(loop) ?? new TurnResults();
    this.#results.set(loop, results);
    if (results.values.length < n - 1) results.add(resultOfTurn(this.#state, loop));
  }

  /** Returns the values for expressions at a node; `output` is set for connections. */
  valuesAt(
    path: string,
    { event, requester }: Job,
    { parameters, input }: RunInputs,
    output?: unknown,
  ): Values {
    const { prefix, loops, node } = this.placeOf(path);
    const views = this.#viewsAt(prefix, loops);
    const steps =
      output === undefined
        ? views
        : { ...views, [node.id]: { state: 'done', output: celValue(output), error: '' } };
    const { type, name = '', context } = event;
    return {
      steps: celMap(steps),
      parameters: celMap(parameters),
      input,
      event: { type, name, context: celValue(context) },
      user: requester ?? '',
      ...this.#turnValues(loops),
    };
  }

  /** Returns views of the nodes in this body and in the bodies around it. Views read the state lazily. */
  #viewsAt(prefix: string, loops: NodePlace['loops']): NodeStepViews {
    if (this.#steps?.prefix === prefix) return this.#steps.views;
    const views: Record<string, NodeStepView> = {};
    for (const around of [...loops.map(({ path: loop }) => loop.slice(0, loop.lastIndexOf('/') + 1)), prefix])
      for (const { id } of this.#bodyAt(around).nodes) views[id] = this.#viewOf(around + id);
    this.#steps = { prefix, views };
    return views;
  }

  #viewOf(path: string): NodeStepView {
    const state = () => this.#state;
    return {
      get state() {
        return state().stateOf(path)?.state ?? 'idle';
      },
      get output() {
        return celValue(state().outputOf(path)) ?? null;
      },
      get error() {
        return state().stateOf(path)?.why ?? '';
      },
    };
  }

  #turnValues(loops: NodePlace['loops']): Values {
    const inner = loops.at(-1);
    if (inner === undefined) return {};
    const index = inner.turn - 1;
    // Expressions represent integers as BigInt.
    return { index: BigInt(index), item: celValue(this.#items.get(inner.path)?.[index]) ?? null };
  }

  #bodyAt(prefix: string): FlowBody {
    // The id after the prefix is irrelevant for the body.
    return prefix === '' ? this.#flow : this.placeOf(`${prefix}x`).body;
  }

  /** Returns the node at a path, and its body. Throws RangeError if a loop of the path does not exist. */
  placeOf(path: string): NodePlace {
    const names = path.split('/');
    const id = names.pop() ?? '';
    let body: FlowBody = this.#flow;
    let prefix = '';
    const loops: { path: string; turn: number }[] = [];
    for (const name of names) {
      const [loop = '', turn = '1'] = name.split('#');
      const node = bodyIndex(body).nodes.get(loop);
      if (node?.work.type !== 'Loop') throw new RangeError(`there is no loop ${loop}`);
      loops.push({ path: prefix + loop, turn: Number(turn) });
      prefix = pathInTurn(prefix + loop, Number(turn), '');
      body = node.work.body;
    }
    // For an unknown id, the caller uses only the body (`#bodyAt`).
    const node = bodyIndex(body).nodes.get(id) ?? (body.nodes[0] as FlowNode);
    return { node, body, prefix, loops };
  }
}
