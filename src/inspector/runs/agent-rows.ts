// The agents as the inspector shows them: what they have done since the start, and the servers that they take tools from.

import type { AgentCounts } from '../../../actors/agents/runs/agent-counters.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { ManagedServer } from '../../../actors/mcp/servers/managed-server.ts';
import type { SupervisedServers } from '../../../actors/mcp/servers/supervised-servers.ts';
import type { Agent } from '../../../config/resources/agents/agent.ts';
import type { AgentRow, AgentServerRow, DoneFigures } from '../wire/run-wire.ts';

const MAX_TEXT = 500;

/** The gateway, as far as this needs it. */
export interface ServersHost {
  readonly servers: { get(id: string): ManagedServer | undefined };
  readonly agentServers: Pick<SupervisedServers, 'everyone'>;
  readonly redactor: Redactor;
}

export function agentRows(
  agents: readonly Agent[],
  countsOf: (agent: string) => AgentCounts,
  host: ServersHost,
): AgentRow[] {
  // Of two of one name the later is the one of the files as they are now.
  const own = new Map([...host.agentServers.everyone()].map((server) => [server.id, server]));
  return agents.map(({ name, description, model, runtime, mcp_servers }) => ({
    name,
    description: description === undefined ? null : host.redactor.excerpt(description, MAX_TEXT),
    model: model ?? null,
    runtime: runtime.kind,
    servers:
      runtime.kind === 'model'
        ? runtime.servers.map((server) => {
            const isOwn = server.entry !== undefined;
            const running = isOwn ? own.get(`${name}/${server.name}`) : host.servers.get(server.name);
            return serverRow(server.name, isOwn, running, host.redactor);
          })
        : mcp_servers.map((server) => serverRow(server, false, host.servers.get(server), host.redactor)),
    ...figures(countsOf(name)),
  }));
}

/** As the page has it. */
export function figures({ runs, failed, running, iterations, cost, ...counts }: AgentCounts): DoneFigures {
  const { toolCalls: tool_calls, inputTokens: input_tokens, outputTokens: output_tokens } = counts;
  return { runs, failed, running, iterations, tool_calls, input_tokens, output_tokens, cost };
}

function serverRow(
  name: string,
  isOwn: boolean,
  server: ManagedServer | undefined,
  redactor: Redactor,
): AgentServerRow {
  const error = server?.lastError;
  return {
    name,
    is_own: isOwn,
    state: server?.state ?? null,
    last_error: error === undefined ? null : redactor.excerpt(error.message, MAX_TEXT),
  };
}
