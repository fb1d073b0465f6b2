// The gateway as library users see it.

import type { Tool, ToolRequestOptions, ToolResult } from '../../actors/mcp/clients/tool-request.ts';

/** A started gateway in this process. */
export interface Gateway {
  /**
   * Calls a tool of a server, and starts the server if it does not run. Rejects with a GatewayError if the tool was not
   * called, with an RpcFault if the server refused the request, and with the reason of an aborted `signal`. A tool that failed
   * is a result with `isError`.
   */
  call(
    server: string,
    tool: string,
    args?: Readonly<Record<string, unknown>>,
    options?: ToolRequestOptions,
  ): Promise<ToolResult>;
  /** Returns the tools of a server, as the server lists them. Rejects as `call` does. */
  tools(server: string, options?: ToolRequestOptions): Promise<readonly Tool[]>;
  /** Calls `listener` if the gateway fails for good while it serves. */
  whenFailed(listener: (error: unknown) => void): void;
  /** Lets calls in flight end within `shutdown_seconds`, and stops every server. */
  stop(): Promise<void>;
}
