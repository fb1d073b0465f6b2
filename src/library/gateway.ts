// Public interface of the gateway for library users.

import type { Tool, ToolRequestOptions, ToolResult } from '../../actors/mcp/clients/tool-request.ts';

/** A started gateway in this process. */
export interface Gateway {
  /**
   * Calls a tool, and starts the server if necessary. A failed tool returns a result with `isError`. Rejects
   * with a GatewayError if the tool was not called, with an RpcFault if the server refused the request, and
   * with the signal's reason if `signal` is aborted.
   */
  call(
    server: string,
    tool: string,
    args?: Readonly<Record<string, unknown>>,
    options?: ToolRequestOptions,
  ): Promise<ToolResult>;
  /** Returns the tools in the server's order. Rejects like `call`. */
  tools(server: string, options?: ToolRequestOptions): Promise<readonly Tool[]>;
  /** Calls `listener` if the gateway fails permanently. */
  whenFailed(listener: (error: unknown) => void): void;
  /** Waits up to `shutdown_seconds` for calls in flight, then stops all servers. */
  stop(): Promise<void>;
}
