// What stands in the tree, line by line: the actors that are to be seen, below them the nodes of the cluster, and the clients' sessions. Sessions are
// no actors and there are many; a line is made of one only when it is drawn.

import type { NodeStatus } from '../../../http/api/node-shapes.ts';
import type { ActorNode, SessionRow } from '../../wire/feed-wire.ts';
import { NODES, nodeAddress, SESSIONS, sessionAddress } from '../address.ts';
import type { TreeRow } from './tree-rows.ts';

export type TreeLine<A extends ActorNode> =
  | { readonly kind: 'actor'; readonly row: TreeRow<A> }
  | { readonly kind: 'nodes'; readonly count: number }
  | { readonly kind: 'node'; readonly index: number; readonly count: number; readonly node: NodeStatus }
  | { readonly kind: 'group'; readonly isOpen: boolean; readonly count: number }
  | {
      readonly kind: 'session';
      readonly index: number;
      /** How many there are. */
      readonly count: number;
      /** Undefined as long as it is not there. */
      readonly session: SessionRow | undefined;
    };

export interface SessionGroup {
  readonly isShown: boolean;
  readonly isOpen: boolean;
  readonly count: number;
  row(index: number): SessionRow | undefined;
}

export class TreeLines<A extends ActorNode> {
  readonly #rows: readonly TreeRow<A>[];
  readonly #group: SessionGroup;
  readonly #nodes: readonly NodeStatus[];

  /** Nodes that are to be seen; they cannot be folded away, as there are few. */
  constructor(rows: readonly TreeRow<A>[], group: SessionGroup, nodes: readonly NodeStatus[] = []) {
    this.#rows = rows;
    this.#group = group;
    this.#nodes = nodes;
  }

  /** The line that is above all nodes. */
  get #nodesFrom(): number {
    return this.#rows.length;
  }

  /** The line that is above all sessions. */
  get #groupLine(): number {
    return this.#nodesFrom + (this.#nodes.length === 0 ? 0 : 1 + this.#nodes.length);
  }

  get length(): number {
    const { isShown, isOpen, count } = this.#group;
    return this.#groupLine + (isShown ? 1 + (isOpen ? count : 0) : 0);
  }

  at(line: number): TreeLine<A> | undefined {
    const row = this.#rows[line];
    if (row !== undefined) return { kind: 'actor', row };
    if (line < 0 || line >= this.length) return undefined;
    if (line < this.#groupLine) {
      const index = line - this.#nodesFrom - 1;
      const node = this.#nodes[index];
      const count = this.#nodes.length;
      return node === undefined ? { kind: 'nodes', count } : { kind: 'node', index, count, node };
    }
    const { isOpen, count } = this.#group;
    const index = line - this.sessionsFrom;
    return index < 0
      ? { kind: 'group', isOpen, count }
      : { kind: 'session', index, count, session: this.#group.row(index) };
  }

  /** The line of the first session, whether they are shown or not. */
  get sessionsFrom(): number {
    return this.#groupLine + 1;
  }

  /** Where a session stands, by its index, or the group of all; −1 where that is not to be seen. */
  lineOfSession(index: number | 'all' | undefined): number {
    if (index === undefined) return -1;
    const line = this.sessionsFrom + (index === 'all' ? -1 : index);
    return line < this.length ? line : -1;
  }

  /** Where a node stands, by its name, or the line above all of them; −1 where that is not to be seen. */
  lineOfNode(name: string | undefined): number {
    if (this.#nodes.length === 0) return -1;
    if (name === undefined) return this.#nodesFrom;
    const index = this.#nodes.findIndex((node) => node.name === name);
    return index < 0 ? -1 : this.#nodesFrom + 1 + index;
  }

  /** The line that the line belongs to; undefined for one at the top. */
  parentOf(line: number): number | undefined {
    if (line < 0) return undefined;
    const depth = this.depthOf(line);
    if (line >= this.sessionsFrom) return this.#groupLine;
    if (line > this.#nodesFrom && line < this.#groupLine) return this.#nodesFrom;
    const above = this.#rows.slice(0, line).findLastIndex((row) => row.depth < depth);
    return above < 0 ? undefined : above;
  }

  depthOf(line: number): number {
    const isGroup = line === this.#groupLine || line === this.#nodesFrom;
    return this.#rows[line]?.depth ?? (isGroup ? 1 : 2);
  }
}

/** The address of what stands there, '' for the root; undefined as long as that is not known. */
export function addressOfLine<A extends ActorNode>(line: TreeLine<A>): string | undefined {
  switch (line.kind) {
    case 'actor':
      return line.row.depth === 0 ? '' : line.row.address;
    case 'nodes':
      return NODES;
    case 'node':
      return nodeAddress(line.node.name);
    case 'group':
      return SESSIONS;
    case 'session':
      return line.session === undefined ? undefined : sessionAddress(line.session.number);
  }
}
