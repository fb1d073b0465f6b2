// Options and results of tool requests that agents, flows and users of the library send to servers; part of
// the public library API.

export interface ToolRequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Deadline in milliseconds. @default 60000 */
  readonly timeoutMs?: number | undefined;
  /** W3C traceparent. */
  readonly trace?: string | undefined;
}

/** A tool as received from the server (`tools/list`). */
export interface Tool {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** A tool result as received from the server (`tools/call`). */
export interface ToolResult {
  readonly content?: readonly unknown[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}
