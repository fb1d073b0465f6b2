// The type of an agent (a model or program that answers events) after validation.

import type { ModelRuntime } from './model-runtime.ts';
import type { TextFormat } from './text-format.ts';

/** Agent runtime: a program with a URL, a script for tests, or the gateway with a model. */
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
  /** PROVIDER:MODEL. */
  readonly model: string | undefined;
  /** Form of the answers. */
  readonly format: TextFormat;
  readonly runtime: AgentRuntime;
  /** Tool filter as written in the file. For agents with a model, `runtime` has its parsed patterns. */
  readonly tools: readonly string[];
  /** Names of the servers. */
  readonly mcp_servers: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Absolute path. */
  readonly file: string;
  /** Hash of the content; a reload restarts only agents whose hash has changed. */
  readonly hash: string;
}
