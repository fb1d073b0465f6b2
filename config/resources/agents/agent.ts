// An agent as the rest of the program sees it.

import type { ModelRuntime } from './model-runtime.ts';

/** Who answers for an agent: a program behind a URL, a script that stands in for one, or the gateway with a model. */
export type AgentRuntime =
  | ModelRuntime
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly timeout_seconds: number;
    }
  | { readonly kind: 'scripted' /** Absolute path. */; readonly script: string };

export interface Agent {
  readonly name: string;
  readonly description: string | undefined;
  /** As written, PROVIDER:MODEL. */
  readonly model: string | undefined;
  readonly runtime: AgentRuntime;
  /** As written; what holds for the gateway's own agents is in their runtime. */
  readonly tools: readonly string[];
  /** Their names. */
  readonly mcp_servers: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Absolute path. */
  readonly file: string;
  /** As for triggers. */
  readonly hash: string;
}
