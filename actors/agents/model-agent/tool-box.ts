// Interface of an agent's tools: from the agent's own servers, which are hidden from clients, and from the
// catalog. A tool box decides which tools the model sees; machines/agent-run/ decides which calls need an
// approval.

import type { AgentServer } from '../../../config/resources/agents/model-runtime.ts';
import type { JournaledTool, ResultImage, ToolHints } from '../../../machines/agent-run/journal.ts';
import type { Parked } from '../handlers/parked.ts';

/**
 * Server name of the tools that a fleet run offers to its manager. No real server has it, because server
 * names contain no slash.
 */
export const RUN_SERVER = 'fleet/members';

/** Tools that a fleet run offers to its manager agent. Their state is in the journal of the fleet run. */
export interface RunTools {
  list(): readonly AgentTool[];
  /**
   * Makes a call, or resumes the call with the same key; returns an existing answer. A parked call must be
   * repeated when the run is woken (parked.ts).
   */
  call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<ToolBoxAnswer | Parked>;
}

/** A tool as its server offers it. */
export interface AgentTool extends Pick<JournaledTool, 'server' | 'tool' | 'description' | 'inputSchema'> {
  readonly hints: ToolHints;
}

export interface ToolBoxAnswer {
  /** Truncated at the limit for results. */
  readonly text: string;
  /** True if the tool reported an error. */
  readonly isError: boolean;
  readonly images?: readonly ResultImage[];
}

export interface CallOptions {
  /** Idempotency key of the call; servers receive it in `_meta["actor-gateway/key"]`. */
  readonly key: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** W3C traceparent. */
  readonly trace: string;
  /** Called with progress messages of the tool. */
  readonly onProgress?: ((message: string) => void) | undefined;
}

export interface ToolBox {
  /**
   * Returns the visible tools in a fixed order; `timeoutMs` applies to each server. Rejects with
   * TooManyToolsError, which is permanent, or with a GatewayError or RpcFault if a server is unavailable.
   */
  list(signal: AbortSignal, timeoutMs: number): Promise<readonly AgentTool[]>;
  /**
   * Calls a tool. Rejects with a GatewayError or an RpcFault if the tool does not answer; a GatewayError with
   * `isUnsent` means that the call was certainly not sent.
   */
  call(
    tool: Pick<AgentTool, 'server' | 'tool'>,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<ToolBoxAnswer>;
  /** Releases the servers used by the run in this process. */
  release(): void;
}

/** Tools of the servers, and of the surrounding run. */
export interface AllTools extends Pick<ToolBox, 'list'> {
  call(...args: Parameters<ToolBox['call']>): Promise<ToolBoxAnswer | Parked>;
}

export interface ToolBoxes {
  /** Returns the run's tools. The servers start with the first use. */
  open(agent: string, servers: readonly AgentServer[], patterns: readonly string[]): ToolBox;
}
