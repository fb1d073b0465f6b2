// Settings of an agent that the gateway runs with a model and tools. All defaults are applied.

import type { ServerEntry } from '../../catalog/catalog-schema.ts';
import type { ApprovalRules } from '../approval-rules.ts';

/** Model name such as `google:gemini-2.5-flash`. */
export interface ModelName {
  /** Provider: a key in `providers` of the gateway file, or a known provider. */
  readonly provider: string;
  readonly model: string;
}

/** Source of tools: an inline server, used by this agent only, or a server of the catalog. */
export interface AgentServer {
  /** Name, unique within the agent; the id for a server of the catalog. */
  readonly name: string;
  /** Entry of an inline server; undefined for a server of the catalog. */
  readonly entry: ServerEntry | undefined;
  /** Filter by glob patterns for tool names; `deny` takes precedence. */
  readonly tools: { readonly allow: readonly string[]; readonly deny: readonly string[] };
}

/**
 * Tool policy: tools in `deny` are hidden, tools in `ask` need approval, and other tools are allowed.
 * Patterns match TOOL, SERVER/TOOL or SERVER__TOOL; `destructive` and `readonly` match the hints that servers
 * give for their tools.
 */
export interface ToolPolicy extends ApprovalRules {
  readonly deny: readonly string[];
  readonly ask: readonly string[];
}

export interface AgentMemory {
  /** Maximum number of previous messages; 0 disables the memory. */
  readonly messages: number;
  /** Maximum total length of these messages, in UTF-16 units. */
  readonly characters: number;
}

/** Limits per run; undefined means unlimited. */
export interface AgentBudget {
  /** Maximum number of tokens, input and output together. */
  readonly tokens: number | undefined;
  readonly tool_calls: number | undefined;
  /** Maximum cost, in the currency of `prices` in the gateway file. */
  readonly cost: number | undefined;
}

export interface ModelRuntime {
  readonly kind: 'model';
  /** The first model is preferred; the rest are fallbacks in this order. */
  readonly models: readonly [ModelName, ...ModelName[]];
  readonly system_prompt: string;
  readonly temperature: number | undefined;
  /** Maximum number of tokens per answer. */
  readonly max_tokens: number | undefined;
  /** Maximum model calls per run; the last call has no tools. */
  readonly max_iterations: number;
  /** Maximum working time per run, without the time spent waiting for people. */
  readonly timeout_seconds: number;
  /** Maximum retries per model call. */
  readonly retries: number;
  readonly servers: readonly AgentServer[];
  /** Patterns of TOOL, SERVER/TOOL or SERVER__TOOL; empty for all tools of the servers. */
  readonly tools: readonly string[];
  readonly policy: ToolPolicy;
  /**
   * Handling of tool calls whose outcome is unknown after a crash: tell the model, repeat the call, ask an
   * approver, or fail the run.
   */
  readonly interrupted_calls: 'tell' | 'repeat' | 'ask' | 'fail';
  readonly memory: AgentMemory;
  /** JSON Schema of the answer, with type `object`. */
  readonly output_schema: Readonly<Record<string, unknown>> | undefined;
  readonly budget: AgentBudget;
  /** `spec` as JSON text with unresolved `${VAR}`. Started runs use it, even if the file changes. */
  readonly definition: string;
}
