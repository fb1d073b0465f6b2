// Progress of a flow run, folded from its journal row by row: the state of its nodes, the items and results of loops, and the
// values that expressions may name. The cost of a row and of a step does not depend on the rows before it.

import type { Flow, FlowBody, FlowNode } from '../../../config/resources/flows/flow.ts';
import { FlowState } from '../../../machines/flow-run/flow-state.ts';
import { type FlowGraph, nodePath, pathInTurn } from '../../../machines/flow-run/graph.ts';
import { fatalFailures, rowsInForce } from '../../../machines/flow-run/retried.ts';
import type { FlowRow } from '../../../machines/flow-run/rows.ts';
import type { Job } from '../handlers/handler.ts';
import { bodyIndex, flowGraph } from './flow-graph.ts';
import { resultOfTurn } from './loop-turns.ts';
import type { Values } from './node-host.ts';
import { TurnResults } from './turn-results.ts';

const flowKinds: ReadonlySet<unknown> = new Set([
  ...['entered', 'again', 'waits', 'turn', 'left', 'failed', 'retried'],
]);

/** Of a journal, those that say something of a node. */
export function flowRows(rows: readonly Readonly<Record<string, unknown>>[]): readonly FlowRow[] {
  const isOwn = (row: Readonly<Record<string, unknown>>) =>
    flowKinds.has(row.kind) && typeof row.in === 'string' && nodePath(row.in) !== undefined;
  return rows.filter(isOwn) as unknown as readonly FlowRow[];
}

/** One node, and the body in which it stands. */
export interface Place {
  readonly node: FlowNode;
  readonly body: FlowBody;
  /** What stands before the ids of the nodes around it. */
  readonly prefix: string;
  /** Of the loops around it, from the outermost: their paths, and the turn that runs. */
  readonly loops: readonly { readonly path: string; readonly turn: number }[];
}

/** What a run begins with, as far as expressions may name it. */
export interface Given {
  readonly parameters: Readonly<Record<string, string>>;
  readonly input: string;
}

/** A node as expressions see it. */
interface StepView {
  readonly state: string;
  readonly output: unknown;
  readonly error: string;
}

type StepViews = Readonly<Record<string, StepView>>;

export class FlowProgress {
  readonly #flow: Flow;
  readonly #graph: FlowGraph;
  #state: FlowState;
  /** Results of turns so far, by the paths of their loops. */
  readonly #results = new Map<string, TurnResults>();
  readonly #items = new Map<string, readonly unknown[]>();
  /** Views of the steps at the last place that was asked for; nodes of one turn share them. */
  #steps: { readonly prefix: string; readonly views: StepViews } | undefined;

  constructor(flow: Flow) {
    this.#flow = flow;
    this.#graph = flowGraph(flow);
    this.#state = new FlowState(this.#graph);
  }

  get state(): FlowState {
    return this.#state;
  }

  /** Goes back to what these rows say, whatever was told before. */
  readBack(rows: readonly FlowRow[]): void {
    this.#state = new FlowState(this.#graph);
    this.#results.clear();
    for (const row of rowsInForce(rows)) this.apply(row);
  }

  /** The nodes by whose failure the flow has failed; none where it has not. */
  fatalIn(rows: readonly FlowRow[]): readonly string[] {
    const { end } = this.#state.next();
    return end?.how === 'failed' && end.at !== undefined ? fatalFailures(this.#graph, rows) : [];
  }

  apply(row: FlowRow): void {
    if (row.kind === 'entered' && row.items !== undefined) this.#items.set(row.in, row.items);
    if (row.kind === 'turn' && row.n > 1) this.keepResult(row.in, row.n);
    this.#state.apply(row);
    if (row.kind !== 'left' && row.kind !== 'failed') return;
    this.#results.delete(row.in);
  }

  hasEnded(path: string): boolean {
    const { state } = this.#state.stateOf(path) ?? {};
    return state !== 'idle' && state !== 'working' && state !== 'waiting';
  }

  /** Results of the turns of a loop so far. */
  resultsOf(loop: string): Readonly<TurnResults> {
    return this.#results.get(loop) ?? new TurnResults();
  }

  itemsOf(loop: string): readonly unknown[] | undefined {
    return this.#items.get(loop);
  }

  /** Of the turn before the `n`th, once. */
  keepResult(loop: string, n: number): void {
    const results = this.#results.get(loop) ?? new TurnResults();
    this.#results.set(loop, results);
    if (results.values.length < n - 1) results.add(resultOfTurn(this.#state, loop));
  }

  /** Values that expressions at a node may name; with its output, those at its connections. */
  valuesAt(path: string, { event, requester }: Job, { parameters, input }: Given, output?: unknown): Values {
    const { prefix, loops, node } = this.placeOf(path);
    const views = this.#viewsAt(prefix, loops);
    const steps =
      output === undefined ? views : { ...views, [node.id]: { state: 'done', output, error: '' } };
    const { type, name = '', context } = event;
    const user = requester ?? '';
    return { steps, parameters, input, event: { type, name, context }, user, ...this.#turnAround(loops) };
  }

  /** Views of the nodes of a body and of the bodies around it. They read the state when an expression does. */
  #viewsAt(prefix: string, loops: Place['loops']): StepViews {
    if (this.#steps?.prefix === prefix) return this.#steps.views;
    const views: Record<string, StepView> = {};
    for (const around of [...loops.map(({ path: loop }) => loop.slice(0, loop.lastIndexOf('/') + 1)), prefix])
      for (const { id } of this.#bodyAt(around).nodes) views[id] = this.#viewOf(around + id);
    this.#steps = { prefix, views };
    return views;
  }

  #viewOf(path: string): StepView {
    const state = () => this.#state;
    return {
      get state() {
        return state().stateOf(path)?.state ?? 'idle';
      },
      get output() {
        return state().outputOf(path) ?? null;
      },
      get error() {
        return state().stateOf(path)?.why ?? '';
      },
    };
  }

  #turnAround(loops: Place['loops']): Values {
    const inner = loops.at(-1);
    if (inner === undefined) return {};
    const index = inner.turn - 1;
    // Whole numbers are of that kind in expressions.
    return { index: BigInt(index), item: this.#items.get(inner.path)?.[index] ?? null };
  }

  #bodyAt(prefix: string): FlowBody {
    return prefix === '' ? this.#flow : this.placeOf(`${prefix}x`).body;
  }

  /** Throws RangeError for a path through what is no loop. */
  placeOf(path: string): Place {
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
    const node = bodyIndex(body).nodes.get(id) ?? (body.nodes[0] as FlowNode);
    return { node, body, prefix, loops };
  }
}
