// Lines of the tree: actors (as rows, rows.ts), then the group of cluster nodes, then the group of client
// sessions. There may be thousands of sessions, so a session's line is created when it is displayed.

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
  | { readonly kind: 'sessions'; readonly isOpen: boolean; readonly count: number }
  | {
      readonly kind: 'session';
      readonly index: number;
      /** Number of sessions. */
      readonly count: number;
      /** Undefined until loaded. */
      readonly session: SessionRow | undefined;
    };

export interface SessionGroup {
  readonly isShown: boolean;
  readonly isOpen: boolean;
  /** Number of sessions. */
  readonly count: number;
  /** Returns undefined until the session is loaded. */
  row(index: number): SessionRow | undefined;
}

export class TreeLines<A extends ActorNode> {
  readonly #rows: readonly TreeRow<A>[];
  readonly #sessions: SessionGroup;
  readonly #nodes: readonly NodeStatus[];

  /** `nodes` are always expanded, because there are few. */
  constructor(rows: readonly TreeRow<A>[], group: SessionGroup, nodes: readonly NodeStatus[] = []) {
    this.#rows = rows;
    this.#sessions = group;
    this.#nodes = nodes;
  }

  /** Line of the heading of the nodes. */
  get #nodesHeading(): number {
    return this.#rows.length;
  }

  /** Line of the heading of the sessions. */
  get #sessionsHeading(): number {
    return this.#nodesHeading + (this.#nodes.length === 0 ? 0 : 1 + this.#nodes.length);
  }

  get length(): number {
    const { isShown, isOpen, count } = this.#sessions;
    return this.#sessionsHeading + (isShown ? 1 + (isOpen ? count : 0) : 0);
  }

  at(line: number): TreeLine<A> | undefined {
    const row = this.#rows[line];
    if (row !== undefined) return { kind: 'actor', row };
    if (line < 0 || line >= this.length) return undefined;
    if (line < this.#sessionsHeading) {
      const index = line - this.#nodesHeading - 1;
      const node = this.#nodes[index];
      const count = this.#nodes.length;
      return node === undefined ? { kind: 'nodes', count } : { kind: 'node', index, count, node };
    }
    const { isOpen, count } = this.#sessions;
    const index = line - this.sessionsFrom;
    return index < 0
      ? { kind: 'sessions', isOpen, count }
      : { kind: 'session', index, count, session: this.#sessions.row(index) };
  }

  /** Line of the first session, even if sessions are collapsed. */
  get sessionsFrom(): number {
    return this.#sessionsHeading + 1;
  }

  /** Returns the line of a session, or of their heading (`all`); −1 if it is not visible or not loaded. */
  lineOfSession(index: number | 'all' | undefined): number {
    if (index === undefined) return -1;
    const line = this.sessionsFrom + (index === 'all' ? -1 : index);
    return line < this.length ? line : -1;
  }

  /** Returns the line of a node, or of their heading if `name` is undefined; −1 if it is not visible. */
  lineOfNode(name: string | undefined): number {
    if (this.#nodes.length === 0) return -1;
    if (name === undefined) return this.#nodesHeading;
    const index = this.#nodes.findIndex((node) => node.name === name);
    return index < 0 ? -1 : this.#nodesHeading + 1 + index;
  }

  /** Returns the parent line; undefined at the top level. */
  parentOf(line: number): number | undefined {
    if (line < 0) return undefined;
    const depth = this.depthOf(line);
    if (line >= this.sessionsFrom) return this.#sessionsHeading;
    if (line > this.#nodesHeading && line < this.#sessionsHeading) return this.#nodesHeading;
    const above = this.#rows.slice(0, line).findLastIndex((row) => row.depth < depth);
    return above < 0 ? undefined : above;
  }

  depthOf(line: number): number {
    const isHeading = line === this.#sessionsHeading || line === this.#nodesHeading;
    return this.#rows[line]?.depth ?? (isHeading ? 1 : 2);
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
    case 'sessions':
      return SESSIONS;
    case 'session':
      return line.session === undefined ? undefined : sessionAddress(line.session.number);
  }
}
