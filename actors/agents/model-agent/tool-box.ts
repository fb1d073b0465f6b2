// The tools of one agent: of servers of its own, hidden from everybody else, and of the catalog. What the model may see of them is
// decided here; whether a call has to be approved, in machines/agent-run/.

import type { AgentServer } from '../../../config/resources/agents/model-runtime.ts';
import type { JournaledTool, ToolHints } from '../../../machines/agent-run/journal.ts';
import type { Parked } from '../handlers/parked.ts';

/** Where the tools of a run stand that are no server's: no server can be called so. */
export const OF_RUN = 'fleet/members';

/** What a run offers to one agent in it beside the tools of servers: these keep what they have done in the journal of the run. */
export interface RunTools {
  list(): readonly FoundTool[];
  /** The same key goes on with the same call, and gives its answer again once it has one. Parked: it waits, and is to be called again then. */
  call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<ToolAnswer | Parked>;
}

/** A tool as its server offers it. */
export interface FoundTool extends Pick<JournaledTool, 'server' | 'tool' | 'description' | 'inputSchema'> {
  readonly hints: ToolHints;
}

export interface ToolAnswer {
  /** Cut at the bound of a result. */
  readonly text: string;
  /** The tool says of itself that it has failed. */
  readonly isError: boolean;
}

export interface CallOptions {
  /** The same for each repetition of one call; servers find it at `_meta["actor-gateway/key"]`. */
  readonly key: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** W3C traceparent. */
  readonly trace: string;
  /** What the tool says of its progress while it works. */
  readonly onProgress?: ((message: string) => void) | undefined;
}

export interface ToolBox {
  /**
   * What the servers offer and the agent may see, in a fixed order; each of them has so long to say it. Rejects with TooManyToolsError, which no other try
   * mends, and with a GatewayError or an RpcFault while one of the servers cannot be asked.
   */
  list(signal: AbortSignal, timeoutMs: number): Promise<readonly FoundTool[]>;
  /**
   * Rejects with a GatewayError or an RpcFault for a call that was not answered. One whose error says `isUnsent` was certainly
   * never made.
   */
  call(
    tool: Pick<FoundTool, 'server' | 'tool'>,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<ToolAnswer>;
  /** The run needs its servers no longer, in this process at least. */
  release(): void;
}

/** Both. */
export interface AllTools extends Pick<ToolBox, 'list'> {
  call(...args: Parameters<ToolBox['call']>): Promise<ToolAnswer | Parked>;
}

export interface ToolBoxes {
  /** For one run of that agent, by the definition that it began with. */
  open(agent: string, servers: readonly AgentServer[], patterns: readonly string[]): ToolBox;
}
