// The gateway as library users see it. The interface is all that they depend on; the transport alone looks behind it.

import type { Gateway as Core } from '../../actors/gateway/gateway.ts';
import type { Tool, ToolRequestOptions, ToolResult } from '../../actors/mcp/clients/in-process-client.ts';

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

export class EmbeddedGateway implements Gateway {
  readonly core: Core;

  constructor(core: Core) {
    this.core = core;
  }

  call(
    server: string,
    tool: string,
    args: Readonly<Record<string, unknown>> = {},
    options: ToolRequestOptions = {},
  ): Promise<ToolResult> {
    return this.core.mcp.clients.inProcess.callTool(tool, args, { ...options, server });
  }

  tools(server: string, options: ToolRequestOptions = {}): Promise<readonly Tool[]> {
    return this.core.mcp.clients.inProcess.listTools({ ...options, server });
  }

  whenFailed(listener: (error: unknown) => void): void {
    this.core.life.whenFailed(listener);
  }

  stop(): Promise<void> {
    return this.core.stop();
  }
}

/** Returns the gateway behind the interface. Throws TypeError for an object that `openGateway` did not return. */
export function coreOf(gateway: Gateway): Core {
  if (gateway instanceof EmbeddedGateway) return gateway.core;
  throw new TypeError('GatewayTransport takes a gateway that openGateway has returned');
}
