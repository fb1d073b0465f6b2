// How much of tools a model is told: each costs tokens in every call of the model, and a row in the journal of every run.
//
// BDT1 (A8)  beyond the bounds nothing is left out silently: which tools a model has is for whoever writes the agent.

import { TooManyToolsError } from '../../base/errors/errors.ts';
import type { FoundTool } from './tool-box.ts';

/** Providers take no more in one request. */
const MAX_TOOLS = 128;
/** Of names, descriptions and schemas together. */
const MAX_BYTES = 262_144;
const MAX_NAMED = 10;

/** The same tools. Throws TooManyToolsError. */
export function boundedTools(agent: string, tools: readonly FoundTool[]): readonly FoundTool[] {
  const bytes = tools.reduce((sum, tool) => sum + sizeOf(tool), 0);
  if (tools.length <= MAX_TOOLS && bytes <= MAX_BYTES) return tools;
  const [what, most] =
    tools.length > MAX_TOOLS
      ? [`${tools.length} tools`, `${MAX_TOOLS} are the most`]
      : [`tools with ${bytes} bytes of descriptions and schemas`, `${MAX_BYTES} are the most`];
  throw new TooManyToolsError(
    `agent ${agent} sees ${what} (${perServer(tools)}), and ${most}; narrow them by \`tools\`, such as ` +
      `tools: [${example(tools)}], or by tools.allow of a server`,
  );
}

function sizeOf({ tool, description, inputSchema }: FoundTool): number {
  return (
    Buffer.byteLength(tool) + Buffer.byteLength(description) + Buffer.byteLength(JSON.stringify(inputSchema))
  );
}

function perServer(tools: readonly FoundTool[]): string {
  const counts = new Map<string, number>();
  for (const { server } of tools) counts.set(server, (counts.get(server) ?? 0) + 1);
  const named = [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([server, count]) => `${server}: ${count}`);
  return [...named.slice(0, MAX_NAMED), ...(named.length > MAX_NAMED ? ['…'] : [])].join(', ');
}

function example(tools: readonly FoundTool[]): string {
  return tools[0] === undefined
    ? '"read_*"'
    : `${JSON.stringify(`${tools[0].server}/${tools[0].tool}`.slice(0, 80))}, "read_*"`;
}
