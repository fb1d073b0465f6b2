// Progress of flow nodes and fleet members, computed from the journal. A flow also lists the members of each
// fleet that it calls. `in` of a row is the path of its node or member.

import type { Step } from '../../store/run.ts';
import { parseFleetDefinition } from './fleet-definition.ts';
import { type RunMember, RunMembers } from './member-progress.ts';
import { type RunNode, RunNodes } from './node-progress.ts';
import { definitionIn, type Excerpt, type PlainRow, plainRow } from './step-view.ts';

export interface RunParts {
  /** Undefined for fleets. */
  readonly nodes?: readonly RunNode[];
  /** Members of all involved fleets. */
  readonly members?: readonly RunMember[];
}

export class PartsOfRun {
  readonly #excerpt: Excerpt;
  readonly #shownChars: number | undefined;
  #nodes: RunNodes | undefined;
  #members: RunMembers | undefined;

  /** `shownChars` limits each text, in UTF-16 units. */
  constructor(excerpt: Excerpt, shownChars?: number) {
    this.#excerpt = excerpt;
    this.#shownChars = shownChars;
  }

  /** Adds the next row of the journal. */
  add(step: Pick<Step, 'at' | 'text'>): void {
    const row = plainRow(step.text);
    if (this.#members === undefined) this.#begin(row);
    if (typeof row.in !== 'string') return;
    this.#nodes?.add(row, step.at);
    this.#members?.add(row.in, row, step.at);
    if (this.#nodes !== undefined) this.#followFleets(row.in, row);
  }

  /** Returns an empty object before the row with the definition. */
  list(isOver: boolean): RunParts {
    if (this.#members === undefined) return {};
    if (this.#nodes === undefined) return { members: this.#members.list(() => isOver) };
    const nodes = this.#nodes.list(isOver);
    const endedNodes = new Set(nodes.flatMap(({ path, endedAt }) => (endedAt === undefined ? [] : [path])));
    const members = this.#members.list((path) => isOver || endedNodes.has(callingNode(path)));
    return members.length === 0 ? { nodes } : { nodes, members };
  }

  #begin(row: PlainRow): void {
    const { kind, definition = '' } = definitionIn(row) ?? {};
    if (kind === undefined) return;
    this.#members = new RunMembers(this.#excerpt, this.#shownChars);
    if (kind === 'flow') this.#nodes = new RunNodes(definition, this.#excerpt, this.#shownChars);
    else this.#members.begin('', parseFleetDefinition(definition));
  }

  /** Adds the members when a node calls a fleet. A new loop turn removes the members of earlier turns. */
  #followFleets(path: string, { kind, definition }: PlainRow): void {
    if (kind === 'turn') this.#members?.removeTurns(path);
    if (kind === 'fleet' && typeof definition === 'string')
      this.#members?.begin(`${path}/`, parseFleetDefinition(definition));
  }
}

const callingNode = (member: string): string => member.slice(0, Math.max(0, member.lastIndexOf('/')));
