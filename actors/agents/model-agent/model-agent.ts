// An agent that the gateway runs itself: it asks a model, calls the tools that the model wants, asks people where the policy says so,
// and goes on until there is an answer. What it has done is in a journal; what comes next follows from that (machines/agent-run/plan.ts),
// so that an attempt after a crash goes on where the one before it was.
//
// AR1  a run goes on with the definition that it began with, whatever the file says by now.
// AR2  whatever the run has learned is durable before the next thing that depends on it: before a tool is called, people are asked, or
//      the answer of a model is taken that was told of it.
// AR3  its own failure (budget, iterations, schema, policy, time) is final; what a model or a store fails with ends the attempt, and
//      the event is tried again from its journal.

import type { ModelRuntime } from '../../../config/resources/agents/model-runtime.ts';
import type { JournalRow } from '../../../machines/agent-run/journal.ts';
import type { Log } from '../../base/errors/log.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Parked } from '../handlers/parked.ts';
import type { Models } from '../models/model.ts';
import { AgentRun } from './agent-run.ts';
import { withRunTools } from './agent-tool-boxes.ts';
import { RunJournal } from './run-journal.ts';
import type { FoundTool, ToolBoxes } from './tool-box.ts';
import { unmatchedNames } from './unmatched-names.ts';

/** In one line of the log. */
const MAX_REMARKED = 20;

export interface ModelAgentServices {
  readonly models: Models;
  readonly toolBoxes: ToolBoxes;
  readonly log: Log;
  /** What a definition says, of the agent in that file. Throws ConfigError. */
  readDefinition(text: string, file: string): ModelRuntime;
}

export class ModelAgent implements Handler {
  readonly #runtime: ModelRuntime;
  readonly #file: string;
  readonly #services: ModelAgentServices;
  #hasRemarked = false;

  /** `file` is the agent's, absolute. */
  constructor(runtime: ModelRuntime, file: string, services: ModelAgentServices) {
    this.#runtime = runtime;
    this.#file = file;
    this.#services = services;
  }

  async run(job: Job, context: HandlerContext): Promise<AgentReply | Parked> {
    const { models, toolBoxes } = this.#services;
    const journal = await RunJournal.open(job.agent, context);
    const runtime = this.#definitionOf(job, journal.rows);
    const box = toolBoxes.open(job.agent, runtime.servers, runtime.tools);
    const tools = withRunTools(box, context.runTools);
    const onTools = (found: readonly FoundTool[]) => this.#remark(job.agent, runtime, found);
    try {
      return await new AgentRun({ runtime, job, context, journal, models, tools, onTools }).work();
    } finally {
      box.release();
    }
  }

  /** Once for each reading of the file. */
  #remark(agent: string, runtime: ModelRuntime, found: readonly FoundTool[]): void {
    if (this.#hasRemarked) return;
    this.#hasRemarked = true;
    const names = unmatchedNames(runtime, found).slice(0, MAX_REMARKED);
    if (names.length > 0)
      this.#services.log.warn({ agent, names }, 'names in the file of an agent are those of no tool');
  }

  #definitionOf({ agent }: Job, rows: readonly JournalRow[]): ModelRuntime {
    const begun = rows.find(({ kind }) => kind === 'begun') as
      | Extract<JournalRow, { readonly kind: 'begun' }>
      | undefined;
    if (begun === undefined || begun.definition === this.#runtime.definition) return this.#runtime;
    try {
      return this.#services.readDefinition(begun.definition, this.#file);
    } catch (error) {
      const reason = (error as Error).message;
      throw new HandlerError(
        `agent ${agent} cannot go on by the definition that the run began with: ${reason}; mend that and retry the run, or replay it to begin anew`,
        { isFinal: true, cause: error },
      );
    }
  }
}
