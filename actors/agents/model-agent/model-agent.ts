// Handler of an agent that the gateway runs itself: it calls a model, calls the tools that the model
// requests, and requests approvals, until the model has a final answer. The journal contains all steps and
// determines the next step (machines/agent-run/plan.ts), so an attempt after a crash continues the previous
// attempt. A run keeps the definition in its first row. A result is durable before a step that depends on it,
// such as a tool call or an approval request. Failures of the run itself (budget, iterations, schema, policy,
// time) are final; after a failure of the model or the store the event is retried, and the run continues.

import type { ModelRuntime } from '../../../config/resources/agents/model-runtime.ts';
import type { JournalRow } from '../../../machines/agent-run/journal.ts';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { Log } from '../../base/errors/log.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Parked } from '../handlers/parked.ts';
import type { RunSlots } from '../handlers/run-slots.ts';
import type { Models } from '../models/model.ts';
import { AgentRun } from './agent-run.ts';
import { withRunTools } from './agent-tool-boxes.ts';
import { RunJournal } from './run-journal.ts';
import type { AgentTool, ToolBoxes } from './tool-box.ts';
import { unmatchedNames } from './unmatched-names.ts';

/** Limit of failed attempts whose working time is remembered. */
const MAX_UNSTORED = 10_000;
/** Limit of names per log line. */
const MAX_LOGGED_NAMES = 20;

export interface ModelAgentServices {
  readonly slots: RunSlots;
  readonly models: Models;
  readonly toolBoxes: ToolBoxes;
  readonly log: Log;
  /** Parses a stored definition of the agent. Throws ConfigError. */
  readDefinition(text: string, file: string): ModelRuntime;
}

export class ModelAgent implements Handler {
  readonly #runtime: ModelRuntime;
  readonly #file: string;
  readonly #services: ModelAgentServices;
  #hasWarned = false;
  /** Working time of failed attempts after the last row, in milliseconds, by idempotency key. */
  readonly #unstoredMs = new Map<string, number>();

  /** `file` is the agent's file, absolute. */
  constructor(runtime: ModelRuntime, file: string, services: ModelAgentServices) {
    this.#runtime = runtime;
    this.#file = file;
    this.#services = services;
  }

  async run(job: Job, context: HandlerContext): Promise<AgentReply | Parked> {
    const { models, toolBoxes, slots } = this.#services;
    const journal = await RunJournal.open(job.agent, context, this.#unstoredMs.get(job.idempotencyKey));
    const runtime = this.#definitionOf(job, journal.rows);
    const box = toolBoxes.open(job.agent, runtime.servers, runtime.tools);
    const tools = withRunTools(box, context.runTools);
    const onTools = (agentTools: readonly AgentTool[]) =>
      this.#warnOfUnknownNames(job.agent, runtime, agentTools);
    this.#unstoredMs.delete(job.idempotencyKey);
    try {
      return await new AgentRun({ runtime, job, context, journal, models, slots, tools, onTools }).work();
    } catch (error) {
      this.#unstoredMs.set(job.idempotencyKey, journal.unstoredMs);
      deleteOldest(this.#unstoredMs, MAX_UNSTORED);
      throw error;
    } finally {
      box.release();
    }
  }

  /** Logs unknown tool names once: a changed file gets a new ModelAgent. */
  #warnOfUnknownNames(agent: string, runtime: ModelRuntime, agentTools: readonly AgentTool[]): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const names = unmatchedNames(runtime, agentTools).slice(0, MAX_LOGGED_NAMES);
    if (names.length > 0) this.#services.log.warn({ agent, names }, 'agent file names unknown tools');
  }

  #definitionOf({ agent }: Job, rows: readonly JournalRow[]): ModelRuntime {
    const firstRow = rows.find(({ kind }) => kind === 'begun') as
      | Extract<JournalRow, { readonly kind: 'begun' }>
      | undefined;
    if (firstRow === undefined || firstRow.definition === this.#runtime.definition) return this.#runtime;
    try {
      return this.#services.readDefinition(firstRow.definition, this.#file);
    } catch (error) {
      const reason = (error as Error).message;
      throw new HandlerError(
        `agent ${agent} cannot use the definition that the run began with: ${reason}; fix the cause and retry the run, or replay it to start over`,
        { isFinal: true, cause: error },
      );
    }
  }
}
