// Implements the public interface `Gateway`. GatewayTransport gets the internal gateway by `coreOf`.

import type { GatewayRuntime } from '../../actors/gateway/gateway.ts';
import type { Tool, ToolRequestOptions, ToolResult } from '../../actors/mcp/clients/tool-request.ts';
import type { Gateway } from './gateway.ts';

export class EmbeddedGateway implements Gateway {
  readonly core: GatewayRuntime;

  constructor(core: GatewayRuntime) {
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
    this.core.life.onFailed(listener);
  }

  stop(): Promise<void> {
    return this.core.stop();
  }
}

/** Returns the internal gateway. Throws TypeError for an object not returned by `openGateway`. */
export function coreOf(gateway: Gateway): GatewayRuntime {
  if (gateway instanceof EmbeddedGateway) return gateway.core;
  throw new TypeError('GatewayTransport needs a gateway returned by openGateway');
}
