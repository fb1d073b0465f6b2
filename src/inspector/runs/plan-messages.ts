// Creates messages about the run of a flow or fleet (a group of agents) from its journal, the stored steps of
// the run: the plan (the definition) once, then each new or changed node and member.

import { parseFleetDefinition } from '../../../actors/agents/runs/fleet-definition.ts';
import { parseFlowDefinition } from '../../../actors/agents/runs/flow-definition.ts';
import { PartsOfRun } from '../../../actors/agents/runs/part-progress.ts';
import { definitionIn, plainRow } from '../../../actors/agents/runs/step-view.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { Step } from '../../../actors/store/run.ts';
import { RecordView } from '../../http/api/record-view.ts';
import { memberRecord, nodeRecord } from '../../http/api/run-records.ts';
import { fleetPlan, graphRecord } from '../../http/api/target-records.ts';
import type { RunMessage, RunPlan } from '../wire/run.ts';

/** Maximum length of a text, in characters. */
const MAX_TEXT = 2_000;
const MAX_PARAMETERS = 32;

export class PlanMessages {
  readonly #view: RecordView;
  readonly #parts: PartsOfRun;
  #plan: RunPlan | undefined;
  #isPlanSent = false;
  /**
   * Last sent JSON by key. The key of a node is `node` and its place (path without the turns of loops); the
   * key of a member is its path.
   */
  readonly #sent = new Map<string, string>();

  constructor(redactor: Redactor) {
    this.#view = new RecordView(redactor);
    this.#parts = new PartsOfRun((text, maxChars) => redactor.excerpt(text, maxChars), MAX_TEXT);
  }

  add(step: Step): void {
    this.#plan ??= this.#planIn(step.text);
    this.#parts.add(step);
  }

  /** Returns the messages since the previous call. */
  takeChanges(isOver: boolean): readonly RunMessage[] {
    if (this.#plan === undefined) return [];
    const plan: readonly RunMessage[] = this.#isPlanSent ? [] : [{ kind: 'plan', data: this.#plan }];
    this.#isPlanSent = true;
    const parts = this.#parts.list(isOver);
    const nodes = (parts.nodes ?? [])
      .map(nodeRecord)
      .filter((each) => this.#isChanged(`node ${each.place}`, each));
    const members = (parts.members ?? [])
      .map(memberRecord)
      .filter((each) => this.#isChanged(each.path, each));
    if (nodes.length + members.length === 0) return plan;
    return [...plan, { kind: 'parts', data: { nodes, members } }];
  }

  #planIn(text: string): RunPlan | undefined {
    const row = plainRow(text);
    const { kind, definition = '' } = definitionIn(row) ?? {};
    if (kind === undefined) return undefined;
    const { input, parameters } = row;
    const entries = typeof parameters === 'object' && parameters !== null ? Object.entries(parameters) : [];
    const graph = kind === 'flow' ? parseFlowDefinition(definition) : undefined;
    return {
      input: typeof input === 'string' ? this.#view.text(input, MAX_TEXT) : '',
      parameters: entries
        .slice(0, MAX_PARAMETERS)
        .map(([name, value]) => [name, this.#view.note(String(value))]),
      flow: graph === undefined ? null : graphRecord(graph, this.#view),
      fleet: kind === 'fleet' ? fleetPlan(parseFleetDefinition(definition), this.#view) : null,
    };
  }

  #isChanged(key: string, record: object): boolean {
    const text = JSON.stringify(record);
    if (this.#sent.get(key) === text) return false;
    this.#sent.set(key, text);
    return true;
  }
}
