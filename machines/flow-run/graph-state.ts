// How far the nodes of one graph have come: those of a flow, or of one turn of a loop. It is told what the journal says, row by row, and
// knows from then on which nodes may start.
//
// GS1  a node starts when all that leads to it is decided and something of it is taken; a join may start earlier (`any`, `majority`).
// GS2  a node to which nothing leads any more is skipped, and so nothing leads on from it: nobody waits for ever.
// GS3  an arrow is decided once. A node that has started or ended does not start again.

import { initialTransition, type SnapshotFrom, transition } from 'xstate';
import { type FlowNodeEvent, flowNodeMachine } from '../flow-node.ts';
import { type FlowGraph, type GraphNode, type Wiring, wiringOf } from './graph.ts';

type NodeSnapshot = SnapshotFrom<typeof flowNodeMachine>;

const [IDLE] = initialTransition(flowNodeMachine);

export type NodeState = NodeSnapshot['value'];

export class GraphState {
  readonly #wiring: Wiring;
  readonly #snapshots: NodeSnapshot[];
  /** Undefined: not decided. */
  readonly #isTaken: (boolean | undefined)[];
  readonly #ready = new Set<number>();
  readonly #working = new Set<number>();
  #open: number;
  #fatal: number | undefined;
  #end: number | undefined;

  constructor(graph: FlowGraph) {
    this.#wiring = wiringOf(graph);
    const { nodes, arrows, into } = this.#wiring;
    this.#snapshots = nodes.map(() => IDLE);
    this.#isTaken = arrows.map(() => undefined);
    this.#open = nodes.length;
    for (const index of nodes.keys()) if (into[index]?.length === 0) this.#ready.add(index);
  }

  /** Nodes that may start now, in the order of the file. */
  get ready(): readonly GraphNode[] {
    return this.#inOrder(this.#ready);
  }

  /** Nothing is left to do: all nodes have come to an end, or an `End` has. */
  get isOver(): boolean {
    return this.#open === 0 || this.#end !== undefined;
  }

  /** The `End` that was reached. */
  get end(): GraphNode | undefined {
    return this.#end === undefined ? undefined : this.#node(this.#end);
  }

  get nodes(): readonly GraphNode[] {
    return this.#wiring.nodes;
  }

  has(id: string): boolean {
    return this.#wiring.indexOf.has(id);
  }

  /** Throws RangeError for a node that is not there, as `of` does. */
  nodeOf(id: string): GraphNode {
    return this.#node(this.#at(id));
  }

  of(id: string): NodeSnapshot {
    return this.#snapshots[this.#at(id)] as NodeSnapshot;
  }

  /** Nodes that have begun and not ended. */
  get working(): readonly GraphNode[] {
    return this.#inOrder(this.#working);
  }

  /** The first node of the file that has failed without an `onError`. */
  get fatal(): GraphNode | undefined {
    return this.#fatal === undefined ? undefined : this.#node(this.#fatal);
  }

  /** Nothing leads on from it. */
  isLeaf(id: string): boolean {
    return (
      this.#wiring.outOf[this.#at(id)]?.every((arrow) => this.#wiring.arrows[arrow]?.place === undefined) ??
      true
    );
  }

  /** `taken` are the places of its connections, with `left`. */
  tell(id: string, event: FlowNodeEvent, taken: readonly number[] = []): void {
    const index = this.#at(id);
    const before = this.#snapshots[index] as NodeSnapshot;
    if (before.status !== 'active') return;
    this.#step(index, event);
    if (this.#snapshots[index]?.status !== 'active') this.#decide(index, event.type, new Set(taken));
  }

  /** The graph ends with this node: what has not come to an end is dropped. */
  endWith(id: string): void {
    this.#end = this.#at(id);
    this.#ready.clear();
    for (const index of this.nodes.keys()) this.#step(index, { type: 'dropped' });
  }

  #step(index: number, event: FlowNodeEvent): void {
    const before = this.#snapshots[index] as NodeSnapshot;
    const [after] = transition(flowNodeMachine, before, event);
    this.#snapshots[index] = after;
    this.#ready.delete(index);
    if (after.value === 'working' || after.value === 'waiting') this.#working.add(index);
    else this.#working.delete(index);
    if (before.status === 'active' && after.status !== 'active') this.#open -= 1;
    if (after.value === 'failed' && this.#node(index).onError === undefined)
      this.#fatal = Math.min(index, this.#fatal ?? index);
  }

  /** What leads on from a node that has ended, and what follows from that. */
  #decide(index: number, how: FlowNodeEvent['type'], taken: ReadonlySet<number>): void {
    const { arrows, outOf } = this.#wiring;
    const touched = new Set<number>();
    for (const at of outOf[index] ?? []) {
      const arrow = arrows[at];
      if (arrow === undefined || this.#isTaken[at] !== undefined) continue;
      this.#isTaken[at] =
        arrow.place === undefined ? how === 'failed' : how === 'left' && taken.has(arrow.place);
      touched.add(arrow.to);
    }
    for (const to of touched) this.#look(to);
  }

  #look(index: number): void {
    if (!this.#is(index, 'idle')) return;
    const arrows = this.#wiring.into[index] ?? [];
    const taken = arrows.filter((at) => this.#isTaken[at] === true).length;
    const undecided = arrows.filter((at) => this.#isTaken[at] === undefined).length;
    const { join } = this.#node(index);
    const needed = join === 'majority' ? Math.floor(arrows.length / 2) + 1 : 1;
    const mayStart = join === 'all' ? undecided === 0 && taken > 0 : taken >= needed;
    if (mayStart) this.#ready.add(index);
    else if (taken + undecided < needed) this.#skip(index, arrows.length);
  }

  #skip(index: number, count: number): void {
    this.#step(index, { type: 'skipped', why: this.#whySkipped(index, count) });
    this.#decide(index, 'skipped', new Set());
  }

  #whySkipped(index: number, count: number): string {
    const taken = (this.#wiring.into[index] ?? []).filter((at) => this.#isTaken[at] === true).length;
    return taken === 0
      ? 'nothing led to it'
      : `only ${taken} of ${count} connections were taken, and a majority is needed`;
  }

  #is(index: number, state: NodeState): boolean {
    return this.#snapshots[index]?.value === state;
  }

  #inOrder(indexes: ReadonlySet<number>): readonly GraphNode[] {
    return [...indexes].sort((a, b) => a - b).map((index) => this.#node(index));
  }

  #node(index: number): GraphNode {
    return this.#wiring.nodes[index] as GraphNode;
  }

  #at(id: string): number {
    const index = this.#wiring.indexOf.get(id);
    if (index === undefined) throw new RangeError(`there is no node ${id}`);
    return index;
  }
}
