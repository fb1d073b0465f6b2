// An agent that the gateway runs itself: with a model, tools, and what it may do. Filled: nothing here has to be defaulted again.

import type { ServerEntry } from '../../catalog/catalog-schema.ts';
import type { ApprovalRules } from '../approval-rules.ts';

/** `google:gemini-2.5-flash`. */
export interface ModelName {
  /** A key of `providers`, or one that is known without. */
  readonly provider: string;
  readonly model: string;
}

/** Tools come from a server of the agent's own, which nobody else sees, or from one of the catalog. */
export interface AgentServer {
  /** Unique within the agent; of one of the catalog its id. */
  readonly name: string;
  /** Undefined for one of the catalog. */
  readonly entry: ServerEntry | undefined;
  /** Patterns of names of tools, as in the catalog; `deny` is stronger. */
  readonly tools: { readonly allow: readonly string[]; readonly deny: readonly string[] };
}

/** Deny, then ask, then allow. Patterns of TOOL, SERVER/TOOL or SERVER__TOOL; `destructive` and `readonly` stand for server hints. */
export interface ToolPolicy extends ApprovalRules {
  readonly deny: readonly string[];
  readonly ask: readonly string[];
}

export interface AgentMemory {
  /** 0: nothing is remembered. */
  readonly messages: number;
  /** Of all texts together, in UTF-16 units. */
  readonly characters: number;
}

/** Undefined is without a bound. */
export interface AgentBudget {
  /** Of input and output together. */
  readonly tokens: number | undefined;
  readonly tool_calls: number | undefined;
  /** In the unit of `prices`. */
  readonly cost: number | undefined;
}

export interface ModelRuntime {
  readonly kind: 'model';
  /** The first answers; each further one where the ones before it cannot. */
  readonly models: readonly [ModelName, ...ModelName[]];
  readonly system_prompt: string;
  readonly temperature: number | undefined;
  /** Of one answer. */
  readonly max_tokens: number | undefined;
  /** Calls of the model in a run; in the last it has no tools. */
  readonly max_iterations: number;
  /** Of work; waiting for people does not count. */
  readonly timeout_seconds: number;
  /** Of one call of the model, after the first attempt. */
  readonly retries: number;
  readonly servers: readonly AgentServer[];
  /** Patterns of TOOL, SERVER/TOOL or SERVER__TOOL; absent: all that the servers offer. */
  readonly tools: readonly string[];
  readonly policy: ToolPolicy;
  /** What becomes of a call with effects that was begun and has no result. */
  readonly interrupted_calls: 'tell' | 'repeat' | 'ask' | 'fail';
  readonly memory: AgentMemory;
  /** JSON Schema of the answer; its type is `object`. */
  readonly output_schema: Readonly<Record<string, unknown>> | undefined;
  readonly budget: AgentBudget;
  /**
   * The document as it was written, as JSON text with `${VAR}` unresolved: a run that has begun goes on by it, whatever the
   * file says then.
   */
  readonly definition: string;
}
