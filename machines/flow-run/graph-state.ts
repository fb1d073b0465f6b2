// States of the nodes in a graph (a flow, or a loop iteration), and the nodes that may start. An arrow is a
// connection, or the link to an `onError` node. When a node finishes, each outgoing arrow is decided, once:
// it is taken or not. By default, a node starts when all incoming arrows are decided and at least one is
// taken; with the join `any` or `majority` it starts as soon as enough arrows are taken. A node that can no
// longer start is skipped. A node starts once.

import { initialTransition, type SnapshotFrom, transition } from 'xstate';
import { type FlowNodeEvent, flowNodeMachine } from '../flow-node.ts';
import { type FlowGraph, type GraphNode, type Wiring, wiringOf } from './graph.ts';

type NodeSnapshot = SnapshotFrom<typeof flowNodeMachine>;

const [IDLE] = initialTransition(flowNodeMachine);

export type NodeState = NodeSnapshot['value'];

export class GraphState {
  readonly #wiring: Wiring;
  readonly #snapshots: NodeSnapshot[];
  /** Per arrow: true if taken; undefined if not decided yet. */
  readonly #arrowDecisions: (boolean | undefined)[];
  readonly #ready = new Set<number>();
  readonly #working = new Set<number>();
  #unfinishedCount: number;
  #fatalIndex: number | undefined;
  #endIndex: number | undefined;

  constructor(graph: FlowGraph) {
    this.#wiring = wiringOf(graph);
    const { nodes, arrows, into } = this.#wiring;
    this.#snapshots = nodes.map(() => IDLE);
    this.#arrowDecisions = arrows.map(() => undefined);
    this.#unfinishedCount = nodes.length;
    for (const index of nodes.keys()) if (into[index]?.length === 0) this.#ready.add(index);
  }

  /** Nodes that may start now, in file order. */
  get ready(): readonly GraphNode[] {
    return this.#inOrder(this.#ready);
  }

  /** True if all nodes have finished, or an `End` was reached. */
  get isOver(): boolean {
    return this.#unfinishedCount === 0 || this.#endIndex !== undefined;
  }

  /** The `End` that was reached. */
  get end(): GraphNode | undefined {
    return this.#endIndex === undefined ? undefined : this.#node(this.#endIndex);
  }

  get nodes(): readonly GraphNode[] {
    return this.#wiring.nodes;
  }

  has(id: string): boolean {
    return this.#wiring.indexOf.has(id);
  }

  /** Throws RangeError for unknown nodes, like all methods with an id except `has`. */
  nodeOf(id: string): GraphNode {
    return this.#node(this.#indexOf(id));
  }

  snapshotOf(id: string): NodeSnapshot {
    return this.#snapshots[this.#indexOf(id)] as NodeSnapshot;
  }

  /** Nodes that have started and not finished. */
  get working(): readonly GraphNode[] {
    return this.#inOrder(this.#working);
  }

  /** First failed node in file order that has no `onError`. */
  get fatal(): GraphNode | undefined {
    return this.#fatalIndex === undefined ? undefined : this.#node(this.#fatalIndex);
  }

  /** Returns true if no connection leads from the node. */
  isLeaf(id: string): boolean {
    return (
      this.#wiring.outOf[this.#indexOf(id)]?.every(
        (arrow) => this.#wiring.arrows[arrow]?.connectionIndex === undefined,
      ) ?? true
    );
  }

  /**
   * Applies an event to a node. With the event `left`, which completes a node, `takenConnections` contains
   * the indexes of its taken connections.
   */
  apply(id: string, event: FlowNodeEvent, takenConnections: readonly number[] = []): void {
    const index = this.#indexOf(id);
    const before = this.#snapshots[index] as NodeSnapshot;
    if (before.status !== 'active') return;
    this.#applyToNode(index, event);
    if (this.#snapshots[index]?.status !== 'active')
      this.#decideArrows(index, event.type, new Set(takenConnections));
  }

  /** Finishes the graph with this `End` node, and drops unfinished nodes. */
  endWith(id: string): void {
    this.#endIndex = this.#indexOf(id);
    this.#ready.clear();
    for (const index of this.nodes.keys()) this.#applyToNode(index, { type: 'dropped' });
  }

  /** Applies an event to one node, without effects on other nodes. */
  #applyToNode(index: number, event: FlowNodeEvent): void {
    const before = this.#snapshots[index] as NodeSnapshot;
    const [after] = transition(flowNodeMachine, before, event);
    this.#snapshots[index] = after;
    this.#ready.delete(index);
    if (after.value === 'working' || after.value === 'waiting') this.#working.add(index);
    else this.#working.delete(index);
    if (before.status === 'active' && after.status !== 'active') this.#unfinishedCount -= 1;
    if (after.value === 'failed' && this.#node(index).onError === undefined)
      this.#fatalIndex = Math.min(index, this.#fatalIndex ?? index);
  }

  /** Decides a finished node's outgoing arrows and updates their target nodes. */
  #decideArrows(index: number, how: FlowNodeEvent['type'], taken: ReadonlySet<number>): void {
    const { arrows, outOf } = this.#wiring;
    const targets = new Set<number>();
    for (const arrowIndex of outOf[index] ?? []) {
      const arrow = arrows[arrowIndex];
      if (arrow === undefined || this.#arrowDecisions[arrowIndex] !== undefined) continue;
      this.#arrowDecisions[arrowIndex] =
        arrow.connectionIndex === undefined
          ? how === 'failed'
          : how === 'left' && taken.has(arrow.connectionIndex);
      targets.add(arrow.to);
    }
    for (const to of targets) this.#startOrSkip(to);
  }

  /** Makes an idle node ready if its join condition is met; skips it if it can no longer be met. */
  #startOrSkip(index: number): void {
    if (!this.#is(index, 'idle')) return;
    const arrows = this.#wiring.into[index] ?? [];
    const takenCount = arrows.filter((arrow) => this.#arrowDecisions[arrow] === true).length;
    const undecidedCount = arrows.filter((arrow) => this.#arrowDecisions[arrow] === undefined).length;
    const { join } = this.#node(index);
    const requiredCount = join === 'majority' ? Math.floor(arrows.length / 2) + 1 : 1;
    const mayStart = join === 'all' ? undecidedCount === 0 && takenCount > 0 : takenCount >= requiredCount;
    if (mayStart) this.#ready.add(index);
    else if (takenCount + undecidedCount < requiredCount) this.#skip(index, arrows.length);
  }

  #skip(index: number, count: number): void {
    this.#applyToNode(index, { type: 'skipped', why: this.#whySkipped(index, count) });
    this.#decideArrows(index, 'skipped', new Set());
  }

  #whySkipped(index: number, count: number): string {
    const arrows = this.#wiring.into[index] ?? [];
    const takenCount = arrows.filter((arrow) => this.#arrowDecisions[arrow] === true).length;
    return takenCount === 0
      ? 'no connection to it was taken'
      : `only ${takenCount} of ${count} connections were taken, a majority is required`;
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

  #indexOf(id: string): number {
    const index = this.#wiring.indexOf.get(id);
    if (index === undefined) throw new RangeError(`unknown node ${id}`);
    return index;
  }
}
