// Progress of flow nodes, for views: computed from the journal row by row, with the definition in the first
// row. Uses the engine's state (machines/flow-run/flow-state.ts) and adds times and outputs. A loop shows its
// current or last turn (iteration), also when finished. Nodes that still worked or waited when the run
// finished are shown as dropped. Only redacted and truncated texts are kept in memory; irrelevant rows are
// reduced to path, kind and time.

import { FlowState } from '../../../machines/flow-run/flow-state.ts';
import { nodePath, pathInTurn } from '../../../machines/flow-run/graph.ts';
import type { NodeState } from '../../../machines/flow-run/graph-state.ts';
import { rowsInForce } from '../../../machines/flow-run/retry.ts';
import type { FlowRow } from '../../../machines/flow-run/rows.ts';
import {
  type DefinedGraph,
  type DefinedNode,
  membersOf,
  parseFlowDefinition,
  takenTargets,
} from './flow-definition.ts';
import type { Excerpt, PlainRow } from './step-view.ts';

/** Limit per node's output, in UTF-16 units. */
const MAX_OUTPUT = 500;

export interface RunNode {
  /** Path as in rows: `check`, `poll#3/check`. */
  readonly path: string;
  /** Path as in the definition, without the numbers of turns: `poll/check`. */
  readonly place: string;
  readonly id: string;
  readonly type: DefinedNode['type'];
  readonly state: NodeState;
  /** Number of starts. */
  readonly attempts: number;
  /** For a loop: the current or last turn. */
  readonly turn: number | undefined;
  /** Wake-up time, in epoch ms. */
  readonly until: number | undefined;
  /** True while the node's approval is pending. */
  readonly isForPeople: boolean;
  /** Reason of the last failure or skip. */
  readonly why: string | undefined;
  /** Start of the first attempt, in epoch ms. */
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** Includes waiting time. */
  readonly tookMs: number | undefined;
  /** Redacted beginning of the input: the request to an agent or fleet, or the list for a loop. */
  readonly input: string | undefined;
  /** Redacted beginning of the output: text or JSON. */
  readonly output: string | undefined;
  /** Approval id, for type Approval. */
  readonly approval: string | undefined;
  /** Target nodes of the taken connections. */
  readonly taken: readonly string[] | undefined;
}

interface NodeDetails {
  input?: string | undefined;
  approval?: string | undefined;
  startedAt?: number | undefined;
  endedAt?: number | undefined;
  output?: string | undefined;
  taken?: readonly string[] | undefined;
  waits?: { readonly until: number | undefined; readonly isForPeople: boolean } | undefined;
}

interface NodeProgress {
  readonly state: NodeState;
  readonly attempts: number;
  readonly why: string | undefined;
}

interface TimedRow extends PlainRow {
  readonly in: string;
  readonly at: number;
}

const NO_GRAPH: DefinedGraph = { nodes: [], connections: [], graph: { nodes: [], connections: [] } };
const IDLE: NodeProgress = { state: 'idle', attempts: 0, why: undefined };
/** Rows that finish a node. */
const endKinds: ReadonlySet<unknown> = new Set(['left', 'failed']);
/** Rows that change node states. */
const flowKinds: ReadonlySet<unknown> = new Set(['again', 'waits', 'parked', 'turn', 'failed', 'retried']);
const MAX_ID = 100;

/** A flow's nodes, computed from the rows of its journal. */
export class RunNodes {
  readonly #defined: DefinedGraph;
  #state: FlowState;
  readonly #excerpt: Excerpt;
  readonly #shownChars: number;
  /** All rows, because a later retry may revoke a failure. */
  readonly #rows: TimedRow[] = [];
  readonly #details = new Map<string, NodeDetails>();
  /** Progress of the nodes in turns that are no longer in `#state`. */
  readonly #droppedProgress = new Map<string, NodeProgress>();
  /** Last turn of each loop, by path. */
  readonly #turns = new Map<string, number>();

  constructor(definition: string, excerpt: Excerpt, shownChars = MAX_OUTPUT) {
    this.#defined = parseFlowDefinition(definition) ?? NO_GRAPH;
    this.#state = new FlowState(this.#defined.graph);
    this.#excerpt = excerpt;
    this.#shownChars = shownChars;
  }

  /** Adds the next row of the journal, written at `at` (epoch ms). */
  add(row: PlainRow, at: number): void {
    if (typeof row.in !== 'string') return;
    const timedRow = this.#shorten(row, row.in, at);
    this.#rows.push(timedRow);
    if (row.kind === 'retried') this.#recompute();
    else this.#apply(timedRow);
  }

  #shorten(row: PlainRow, path: string, at: number): TimedRow {
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

  /** Recomputes the state without revoked failures and their consequences. */
  #recompute(): void {
    this.#state = new FlowState(this.#defined.graph);
    for (const map of [this.#details, this.#droppedProgress, this.#turns]) map.clear();
    const inForce = rowsInForce(this.#rows as unknown as readonly FlowRow[]);
    for (const row of inForce as unknown as readonly TimedRow[]) this.#apply(row);
  }

  #apply(row: TimedRow): void {
    // The state drops turns when their loop finishes, or when the graph around it reaches an `End`.
    if (endKinds.has(row.kind) && (this.#turns.has(row.in) || row.isEnd === true)) this.#storeTurns();
    if (nodePath(row.in) !== undefined) this.#state.apply(row as unknown as FlowRow);
    this.#updateDetails(row);
  }

  /** Returns the nodes in definition order; inner nodes follow their loop. `isOver`: the run has finished. */
  list(isOver = false): readonly RunNode[] {
    return [...this.#listNodes(this.#defined.nodes, '', '', isOver)];
  }

  *#listNodes(
    nodes: readonly DefinedNode[],
    prefix: string,
    place: string,
    isOver: boolean,
  ): Iterable<RunNode> {
    for (const { id, type, inside } of nodes) {
      const path = prefix + id;
      const turn = inside === undefined ? undefined : this.#turns.get(path);
      const details = this.#detailsOf(path, isOver);
      const approval = type === 'Approval' ? details.approval : undefined;
      yield { path, place: place + id, id, type, turn, ...details, approval };
      const isLoopOver = isOver || !['working', 'waiting'].includes(details.state);
      if (inside !== undefined)
        yield* this.#listNodes(inside.nodes, pathInTurn(path, turn ?? 1, ''), `${place}${id}/`, isLoopOver);
    }
  }

  #detailsOf(path: string, isOver: boolean): Omit<RunNode, 'path' | 'place' | 'id' | 'type' | 'turn'> {
    const details = this.#details.get(path) ?? {};
    const { input, approval, startedAt, output, taken, waits } = details;
    const { state: progress, attempts, why } = this.#progressOf(path) ?? IDLE;
    const state = shownState(progress, { isOver, isWaiting: waits !== undefined });
    const { until, isForPeople = false } = (state === 'waiting' ? waits : undefined) ?? {};
    const end = state === 'done' || state === 'failed' ? details.endedAt : undefined;
    const tookMs = startedAt === undefined || end === undefined ? undefined : end - startedAt;
    return {
      state,
      attempts,
      until,
      isForPeople,
      startedAt,
      endedAt: end,
      tookMs,
      input,
      approval,
      ...(state === 'done' ? { output, taken } : { output: undefined, taken: undefined }),
      why: why && this.#excerpt(why, this.#shownChars),
    };
  }

  #progressOf(path: string): NodeProgress | undefined {
    const state = this.#state.stateOf(path);
    if (state === undefined) return this.#droppedProgress.get(path);
    const { attempts = 0 } = this.#state.progressOf(path) ?? {};
    return { ...state, attempts };
  }

  /** Updates the details of the node that the row is about. */
  #updateDetails(row: TimedRow): void {
    const { in: path, at } = row;
    const before = this.#details.get(path);
    const { input = before?.input, approval = before?.approval } = row as NodeDetails;
    const details = { ...before, input, approval };
    switch (row.kind) {
      case 'entered':
        this.#details.set(path, {
          ...details,
          startedAt: details.startedAt ?? at,
          endedAt: undefined,
          waits: undefined,
        });
        return;
      case 'again':
      case 'waits':
      case 'parked':
        this.#details.set(path, {
          ...details,
          waits: { until: numberIn(row.until), isForPeople: row.isForPeople === true },
        });
        return;
      case 'turn':
        if (typeof row.n === 'number') this.#beginTurn(path, row.n);
        return;
      case 'left':
      case 'failed':
        this.#details.set(path, {
          input,
          approval,
          startedAt: details.startedAt,
          endedAt: at,
          ...(row.kind === 'left'
            ? {
                output: row.output as string | undefined,
                taken: takenTargets(this.#defined, path, row.taken),
              }
            : {}),
        });
        return;
      default:
        // Any other row means that the node resumed. Nodes without a wait, input or approval need no details.
        if ((before?.waits ?? input ?? approval) !== undefined)
          this.#details.set(path, { ...details, waits: undefined });
    }
  }

  /** Removes the details of previous turns. */
  #beginTurn(loop: string, n: number): void {
    for (const map of [this.#details, this.#droppedProgress, this.#turns])
      for (const path of [...map.keys()]) if (path.startsWith(`${loop}#`)) map.delete(path);
    this.#turns.set(loop, n);
  }

  #text(value: unknown): string | undefined {
    if (value === undefined || value === null) return undefined;
    return this.#excerpt(typeof value === 'string' ? value : JSON.stringify(value), this.#shownChars);
  }

  /** Stores the progress of turns before processing a row that may drop them from the state. */
  #storeTurns(): void {
    for (const [loop, n] of this.#turns) {
      if (this.#state.lastTurn(loop)?.n !== n) continue;
      for (const { id } of this.#nodesIn(loop)) {
        const path = pathInTurn(loop, n, id);
        const progress = this.#progressOf(path);
        if (progress !== undefined) this.#droppedProgress.set(path, progress);
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

/**
 * Returns a node's state for views. The engine's state does not contain that a node is parked (waiting),
 * or that the run has finished.
 */
function shownState(
  state: NodeState,
  { isOver, isWaiting }: { readonly isOver: boolean; readonly isWaiting: boolean },
): NodeState {
  if (state !== 'working' && state !== 'waiting') return state;
  if (isOver) return 'dropped';
  return isWaiting ? 'waiting' : state;
}

const numberIn = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** Returns the approval id: an Approval node stores it as its state, in a row of kind `kept`. */
const approvalIn = ({ kind, kept }: PlainRow): string | undefined =>
  kind === 'kept' && typeof kept === 'string' && kept.length <= MAX_ID ? kept : undefined;
