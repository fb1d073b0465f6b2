// Names of tools for a model: a unique tool keeps its own name, any other has the name used at /mcp
// (client/aggregate/tool-names.ts). Some providers want a letter or `_` first.
//
// ATN1  every tool has a name that all providers accept, and no two have the same.
// ATN2  `server__tool` is that tool's name or unused: a tool name that contains `__` always has the server id as its prefix.
// ATN3  the names do not depend on the order of the tools.

import { isReservedName, MergedNames } from '../client/aggregate/tool-names.ts';

interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

const accepted = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Returns the names in the order of `tools`, which differ in server or tool. `servers` are all servers of the agent. */
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
