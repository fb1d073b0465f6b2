// Tool names for models: a unique tool has its own name, the others have their names at /mcp
// (client/aggregate/tool-names.ts). Some providers want a letter or `_` first.
//
// ATN1  every tool has a unique name that all providers accept.
// ATN2  `server__tool` is that tool's name or unused: a tool name that contains `__` always starts with the server id.
// ATN3  the names do not depend on the order of the tools.

import { isReservedName, MergedNames } from '../../mcp/clients/aggregate/tool-names.ts';

interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

const accepted = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Returns the names in the order of `tools`, which differ in server or tool. `servers` is the agent's full server list. */
export function toolNames(tools: readonly NamedTool[], servers: Iterable<string>): readonly string[] {
  const byServer = new Map<string, string[]>();
  const counts = new Map<string, number>();
  for (const { server, tool } of tools) {
    byServer.set(server, [...(byServer.get(server) ?? []), tool]);
    counts.set(tool, (counts.get(tool) ?? 0) + 1);
  }
  const merged = new MergedNames([...servers, ...byServer.keys()], accepted);
  const full = new Map([...byServer].map(([server, all]) => [server, merged.namesOf(server, all)]));
  return tools.map(({ server, tool }) => {
    const isBare = counts.get(tool) === 1 && accepted.test(tool) && !isReservedName(tool);
    return isBare ? tool : (full.get(server)?.get(tool) ?? tool);
  });
}
