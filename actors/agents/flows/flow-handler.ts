// A flow behind the seam of handlers: a run goes on with the definition that it began with.

import { randomBytes } from 'node:crypto';
import type { AskingWork, Flow } from '../../../config/resources/flows/flow.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Parked } from '../handlers/parked.ts';
import { PartsJournal } from '../parts/parts-journal.ts';
import { type BegunFlow, FlowRun } from './flow-run.ts';

export interface FlowServices {
  /** Who answers at an Agent or a Fleet; undefined for one that is not there. */
  handlerOf(work: AskingWork): Handler | undefined;
  /** What a definition says, of the flow in that file. Rejects with ConfigError. */
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
    const before = journal.rows.find((row) => row.kind === 'flow' && row.in === undefined);
    const begun = (before as unknown as BegunFlow | undefined) ?? this.#begin(job, journal);
    const flow = await this.#definitionOf(begun);
    const { handlerOf } = this.#services;
    return new FlowRun({ flow, begun, job, context, journal, handlerOf }).work();
  }

  #begin({ input, parameters: given }: Job, journal: PartsJournal): BegunFlow {
    const { name, definition, parameters } = this.#flow;
    const missing = parameters.find((each) => each.required && (given[each.name] ?? '') === '');
    if (missing !== undefined)
      throw new HandlerError(`flow ${name} needs the parameter ${missing.name}`, { isFinal: true });
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const values = parameters.map((each) => [each.name, given[each.name] ?? each.default ?? ''] as const);
    const row: BegunFlow = {
      kind: 'flow',
      name,
      nonce,
      definition,
      parameters: Object.fromEntries(values),
      input,
    };
    journal.add(row);
    return row;
  }

  async #definitionOf({ definition }: BegunFlow): Promise<Flow> {
    if (definition === this.#flow.definition) return this.#flow;
    const { name } = this.#flow;
    try {
      return await this.#services.readDefinition(definition, this.#flow);
    } catch (error) {
      throw new HandlerError(
        `flow ${name} cannot go on by the definition that the run began with: ${(error as Error).message}; mend that and retry the run, or replay it to begin anew`,
        { isFinal: true, cause: error },
      );
    }
  }
}
