// How far a run of a flow has come, from its journal: the state of its nodes, what loops are about and have given, and what expressions may
// name because of that.

import type { Flow, FlowBody, FlowNode } from '../../../config/resources/flows/flow.ts';
import { FlowState } from '../../../machines/flow-run/flow-state.ts';
import type { FlowGraph } from '../../../machines/flow-run/graph.ts';
import { nodePath, pathInTurn } from '../../../machines/flow-run/node-path.ts';
import { fatalFailures, rowsInForce } from '../../../machines/flow-run/retried.ts';
import type { FlowRow } from '../../../machines/flow-run/rows.ts';
import type { Job } from '../handlers/handler.ts';
import { flowGraph } from './flow-graph.ts';
import { resultOfTurn } from './loop-turns.ts';
import type { Values } from './node-host.ts';

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

export class FlowProgress {
  readonly #flow: Flow;
  readonly #graph: FlowGraph;
  #state: FlowState;
  /** Results of turns so far, by the paths of their loops. */
  readonly #results = new Map<string, unknown[]>();
  readonly #items = new Map<string, readonly unknown[]>();

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
    if (row.kind === 'left' || row.kind === 'failed') this.#results.delete(row.in);
  }

  hasEnded(path: string): boolean {
    const { state } = this.#state.stateOf(path) ?? {};
    return state !== 'idle' && state !== 'working' && state !== 'waiting';
  }

  /** What the turns of a loop have given so far. */
  resultsOf(loop: string): readonly unknown[] {
    return this.#results.get(loop) ?? [];
  }

  itemsOf(loop: string): readonly unknown[] | undefined {
    return this.#items.get(loop);
  }

  /** Of the turn before the `n`th, once. */
  keepResult(loop: string, n: number): void {
    const results = this.#results.get(loop) ?? [];
    this.#results.set(loop, results);
    if (results.length < n - 1) results.push(resultOfTurn(this.#state, loop));
  }

  /** What expressions at a node may name; with its output, those at its connections. */
  valuesAt(path: string, { event, requester }: Job, { parameters, input }: Given, output?: unknown): Values {
    const { prefix, loops, node } = this.placeOf(path);
    const steps: Record<string, unknown> = {};
    for (const around of [...loops.map(({ path: loop }) => loop.slice(0, loop.lastIndexOf('/') + 1)), prefix])
      for (const { id } of this.#bodyAt(around).nodes) {
        const { state, why } = this.#state.stateOf(around + id) ?? {};
        const given = this.#state.outputOf(around + id) ?? null;
        steps[id] = { state: state ?? 'idle', output: given, error: why ?? '' };
      }
    if (output !== undefined) steps[node.id] = { state: 'done', output, error: '' };
    const { type, name = '', context } = event;
    const user = requester ?? '';
    return { steps, parameters, input, event: { type, name, context }, user, ...this.#turnAround(loops) };
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
      const node = body.nodes.find((each) => each.id === loop);
      if (node?.work.type !== 'Loop') throw new RangeError(`there is no loop ${loop}`);
      loops.push({ path: prefix + loop, turn: Number(turn) });
      prefix = pathInTurn(prefix + loop, Number(turn), '');
      body = node.work.body;
    }
    const node = body.nodes.find((each) => each.id === id) ?? (body.nodes[0] as FlowNode);
    return { node, body, prefix, loops };
  }
}
