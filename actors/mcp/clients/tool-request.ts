// Requests for tools and their results, as library users see them.

export interface ToolRequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** @default 60000 */
  readonly timeoutMs?: number | undefined;
  /** W3C traceparent. */
  readonly trace?: string | undefined;
}

/** As the server gave it (`tools/list`). */
export interface Tool {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** As the server gave it (`tools/call`). */
export interface ToolResult {
  readonly content?: readonly unknown[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}
