// The type of an agent (a model or program that answers events) after validation.

import type { ModelRuntime } from './model-runtime.ts';
import type { TextFormat } from './text-format.ts';

/** Runs the agent: the gateway with a model, an external program with a URL, or a script for tests. */
export type AgentRuntime =
  | ModelRuntime
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly timeout_seconds: number;
    }
  | {
      readonly kind: 'scripted';
      /** Absolute path of the script. */
      readonly script: string;
    };

export interface Agent {
  readonly name: string;
  readonly description: string | undefined;
  /** PROVIDER:MODEL or `scripted:FILE`; undefined if the file names no model. */
  readonly model: string | undefined;
  /** Markup of the answers, explained in text-format.ts. */
  readonly format: TextFormat;
  readonly runtime: AgentRuntime;
  /** Glob patterns of allowed tools, as written in the file; empty = all tools. */
  readonly tools: readonly string[];
  /** Names of the agent's tool servers. */
  readonly mcp_servers: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Absolute path of the agent's file. */
  readonly file: string;
  /** Hash of the content; a reload restarts only agents whose hash has changed. */
  readonly hash: string;
}
