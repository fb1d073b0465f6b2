// Flow handler: runs attempts with the definition from the start of the run. Changes of the file apply
// to new runs only.

import { randomBytes } from 'node:crypto';
import type { Flow, HandlerWork } from '../../../config/resources/flows/flow.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Parked } from '../handlers/parked.ts';
import type { RunSlots } from '../handlers/run-slots.ts';
import { PartsJournal } from '../parts/journal.ts';
import { type FlowFirstRow, FlowRun } from './run.ts';

export interface FlowServices {
  readonly slots: RunSlots;
  /** Returns the handler for a node's agent or fleet; undefined if missing. */
  handlerOf(work: HandlerWork): Handler | undefined;
  /** Parses a stored definition of the flow. Rejects with ConfigError. */
  readDefinition(text: string, flow: Pick<Flow, 'name' | 'file'>): Promise<Flow>;
}

const NONCE_BYTES = 9;

export class FlowHandler implements Handler {
  readonly #flow: Flow;
  readonly #services: FlowServices;

  constructor(flow: Flow, services: FlowServices) {
    this.#flow = flow;
    this.#services = services;
  }

  async run(job: Job, context: HandlerContext): Promise<AgentReply | Parked> {
    const { name } = this.#flow;
    const journal = await PartsJournal.open({ kind: 'flow', name, context });
    const storedRow = journal.rows.find((row) => row.kind === 'flow' && row.in === undefined);
    const firstRow = (storedRow as unknown as FlowFirstRow | undefined) ?? this.#begin(job, journal);
    const flow = await this.#definitionOf(firstRow);
    const { handlerOf, slots } = this.#services;
    return new FlowRun({ flow, firstRow, job, context, journal, handlerOf, slots }).work();
  }

  #begin({ input, parameters: values }: Job, journal: PartsJournal): FlowFirstRow {
    const { name, definition, parameters } = this.#flow;
    const missing = parameters.find((each) => each.required && (values[each.name] ?? '') === '');
    if (missing !== undefined)
      throw new HandlerError(`flow ${name} needs the parameter ${missing.name}`, { isFinal: true });
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const entries = parameters.map((each) => [each.name, values[each.name] ?? each.default ?? ''] as const);
    const row: FlowFirstRow = {
      kind: 'flow',
      name,
      nonce,
      definition,
      parameters: Object.fromEntries(entries),
      input,
    };
    journal.add(row);
    return row;
  }

  async #definitionOf({ definition }: FlowFirstRow): Promise<Flow> {
    if (definition === this.#flow.definition) return this.#flow;
    const { name } = this.#flow;
    try {
      return await this.#services.readDefinition(definition, this.#flow);
    } catch (error) {
      throw new HandlerError(
        `flow ${name} cannot use the definition that the run began with: ${(error as Error).message}; fix the cause and retry the run, or replay it to start over`,
        { isFinal: true, cause: error },
      );
    }
  }
}
