// Messages for a page that shows the run of a flow or fleet: the plan once, then each changed node and member. Input: all rows of
// the journal, in order.

import { definedFleet } from '../../../actors/agents/runs/defined-fleet.ts';
import { definedGraph } from '../../../actors/agents/runs/defined-graph.ts';
import { PartsOfRun } from '../../../actors/agents/runs/parts-of-run.ts';
import { definitionIn, plainRow } from '../../../actors/agents/runs/shown-step.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { Step } from '../../../actors/store/run.ts';
import { RecordView } from '../../http/api/record-view.ts';
import { memberRecord, nodeRecord } from '../../http/api/run-records.ts';
import { fleetPlan, graphRecord } from '../../http/api/target-records.ts';
import type { RunMessage, RunPlan } from '../wire/run-wire.ts';

const MAX_TEXT = 2_000;
const MAX_PARAMETERS = 32;

export class RunPicture {
  readonly #view: RecordView;
  readonly #parts: PartsOfRun;
  #plan: RunPlan | undefined;
  #isPlanTold = false;
  /** Last sent JSON by path. */
  readonly #told = new Map<string, string>();

  constructor(redactor: Redactor) {
    this.#view = new RecordView(redactor);
    this.#parts = new PartsOfRun((text, maxChars) => redactor.excerpt(text, maxChars), MAX_TEXT);
  }

  take(step: Step): void {
    this.#plan ??= this.#planIn(step.text);
    this.#parts.add(step);
  }

  /** Returns the messages since the last call. */
  changes(isOver: boolean): readonly RunMessage[] {
    if (this.#plan === undefined) return [];
    const plan: readonly RunMessage[] = this.#isPlanTold ? [] : [{ kind: 'plan', data: this.#plan }];
    this.#isPlanTold = true;
    const parts = this.#parts.list(isOver);
    const nodes = (parts.nodes ?? [])
      .map(nodeRecord)
      .filter((each) => this.#isNews(`node ${each.place}`, each));
    const members = (parts.members ?? []).map(memberRecord).filter((each) => this.#isNews(each.path, each));
    if (nodes.length + members.length === 0) return plan;
    return [...plan, { kind: 'parts', data: { nodes, members } }];
  }

  #planIn(text: string): RunPlan | undefined {
    const row = plainRow(text);
    const { kind, definition = '' } = definitionIn(row) ?? {};
    if (kind === undefined) return undefined;
    const { input, parameters } = row;
    const given = typeof parameters === 'object' && parameters !== null ? Object.entries(parameters) : [];
    const graph = kind === 'flow' ? definedGraph(definition) : undefined;
    return {
      input: typeof input === 'string' ? this.#view.text(input, MAX_TEXT) : '',
      parameters: given
        .slice(0, MAX_PARAMETERS)
        .map(([name, value]) => [name, this.#view.note(String(value))]),
      flow: graph === undefined ? null : graphRecord(graph, this.#view),
      fleet: kind === 'fleet' ? fleetPlan(definedFleet(definition), this.#view) : null,
    };
  }

  #isNews(key: string, record: object): boolean {
    const text = JSON.stringify(record);
    if (this.#told.get(key) === text) return false;
    this.#told.set(key, text);
    return true;
  }
}
