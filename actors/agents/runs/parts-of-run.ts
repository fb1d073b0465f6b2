// What the run of a flow or of a fleet consists of, as far as its journal has told: its nodes, or its members.

import type { Step } from '../../store/run.ts';
import { definitionIn, plainRow } from './plain-rows.ts';
import { fleetIn, type RunMember, RunMembers } from './run-members.ts';
import { type RunNode, RunNodes } from './run-nodes.ts';
import type { Excerpt } from './shown-step.ts';

export interface RunParts {
  /** Of a flow. */
  readonly nodes?: readonly RunNode[];
  /** Of a fleet. */
  readonly members?: readonly RunMember[];
}

export class PartsOfRun {
  readonly #excerpt: Excerpt;
  #nodes: RunNodes | undefined;
  #members: RunMembers | undefined;

  constructor(excerpt: Excerpt) {
    this.#excerpt = excerpt;
  }

  /** All rows of the journal, in order. */
  add(step: Pick<Step, 'at' | 'text'>): void {
    if (this.#nodes === undefined && this.#members === undefined) this.#begin(step.text);
    this.#nodes?.add(step);
    const row = plainRow(step.text);
    if (typeof row.in === 'string') this.#members?.add(row.in, row, step.at);
  }

  /** Empty before the row that a flow or a fleet begins with. */
  list(isOver: boolean): RunParts {
    if (this.#nodes !== undefined) return { nodes: this.#nodes.list(isOver) };
    return this.#members === undefined ? {} : { members: this.#members.list(() => isOver) };
  }

  #begin(text: string): void {
    const { kind, definition = '' } = definitionIn(text) ?? {};
    if (kind === 'flow') this.#nodes = new RunNodes(definition, this.#excerpt);
    if (kind !== 'fleet') return;
    this.#members = new RunMembers(this.#excerpt);
    this.#members.begin('', fleetIn(definition));
  }
}
