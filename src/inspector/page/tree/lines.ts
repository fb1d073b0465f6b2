// Lines of the tree: actors, then the group of cluster nodes, then the group of client sessions. There may be
// thousands of sessions, so a session's line is created when it is displayed.

import type { NodeStatus } from '../../../http/api/node-shapes.ts';
import type { ActorNode, SessionRow } from '../../wire/feed.ts';
import { NODES, nodeAddress, SESSIONS, sessionAddress } from '../address.ts';
import type { TreeRow } from './rows.ts';

export type TreeLine<A extends ActorNode> =
  | { readonly kind: 'actor'; readonly row: TreeRow<A> }
  /** Heading of the cluster nodes. */
  | { readonly kind: 'nodes'; readonly count: number }
  | { readonly kind: 'node'; readonly index: number; readonly count: number; readonly node: NodeStatus }
  /** Heading of the sessions. */
  | { readonly kind: 'group'; readonly isOpen: boolean; readonly count: number }
  | {
      readonly kind: 'session';
      readonly index: number;
      /** Number of sessions. */
      readonly count: number;
      /** Undefined until it is loaded. */
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

  /** `nodes` are always expanded, because there are few. */
  constructor(rows: readonly TreeRow<A>[], group: SessionGroup, nodes: readonly NodeStatus[] = []) {
    this.#rows = rows;
    this.#group = group;
    this.#nodes = nodes;
  }

  /** Line of the heading of the nodes. */
  get #nodesFrom(): number {
    return this.#rows.length;
  }

  /** Line of the heading of the sessions. */
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

  /** Line of the first session, even if sessions are collapsed. */
  get sessionsFrom(): number {
    return this.#groupLine + 1;
  }

  /** Returns the line of a session, or of the heading (`all`); −1 if it is not visible. */
  lineOfSession(index: number | 'all' | undefined): number {
    if (index === undefined) return -1;
    const line = this.sessionsFrom + (index === 'all' ? -1 : index);
    return line < this.length ? line : -1;
  }

  /** Returns the line of a node, or of the heading (undefined); −1 if it is not visible. */
  lineOfNode(name: string | undefined): number {
    if (this.#nodes.length === 0) return -1;
    if (name === undefined) return this.#nodesFrom;
    const index = this.#nodes.findIndex((node) => node.name === name);
    return index < 0 ? -1 : this.#nodesFrom + 1 + index;
  }

  /** Returns the parent line; undefined at the top level. */
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

/** Returns the address of a line; undefined for a session that is not loaded. */
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
