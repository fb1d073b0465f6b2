// An agent as the rest of the program sees it.

export interface ToolServerEntry {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Who answers for an agent: a program behind a URL, or a script that stands in for one. */
export type AgentRuntime =
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
  readonly model: string | undefined;
  /** Undefined: parsed, checked, and cannot run yet. */
  readonly runtime: AgentRuntime | undefined;
  readonly mcp_servers: readonly ToolServerEntry[];
  readonly system_prompt: string | undefined;
  readonly temperature: number | undefined;
  readonly max_tokens: number | undefined;
  readonly tools: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Absolute path. */
  readonly file: string;
  /** As for triggers. */
  readonly hash: string;
}
