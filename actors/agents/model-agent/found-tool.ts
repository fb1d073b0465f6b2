// A tool as its server lists it, as an agent needs it. Whatever a server says of its tools is what a stranger says.

import type { ToolHints } from '../../../machines/agent-run/journal.ts';
import type { Tool } from '../../mcp/clients/tool-request.ts';
import { JsonScanner } from '../../mcp/jsonrpc/json-scanner.ts';
import { checkItem } from '../../mcp/servers/lists/item-check.ts';
import { itemJson, readItem } from '../../mcp/servers/lists/lists.ts';
import type { FoundTool } from './tool-box.ts';

type Members = Readonly<Record<string, unknown>>;

/** Undefined for one that could not be called. */
export function foundTool(server: string, tool: Tool): FoundTool | undefined {
  const { name } = tool;
  // The journal replaces halves of surrogate pairs, and the tool is unreachable under the changed name.
  if (typeof name !== 'string' || name === '' || !name.isWellFormed()) return undefined;
  const { description, title, inputSchema, annotations } = validMembers(tool);
  const schema = isObject(inputSchema) ? inputSchema : {};
  return {
    server,
    tool: name,
    description: [description, title].find((text) => typeof text === 'string') ?? '',
    // Whoever leaves it out means the same, and providers of models insist on it.
    inputSchema: { ...schema, type: 'object' },
    hints: hintsIn(isObject(annotations) ? annotations : {}),
  };
}

/** The tool as merged lists show it: providers are as strict as MCP clients. */
function validMembers(tool: Tool): Members {
  // A tool with an unusable schema takes any arguments.
  const json = validJson(tool) ?? validJson({ ...tool, inputSchema: null });
  return json === undefined ? {} : (JSON.parse(json) as Members);
}

function validJson(tool: Tool): string | undefined {
  const item = readItem(new JsonScanner(Buffer.from(JSON.stringify(tool))), 'tools');
  const forms = item && checkItem('tools', item).forms;
  return forms && itemJson(forms.legacy);
}

/** As the protocol has it: what nothing is said of may destroy, and does so each time anew. */
function hintsIn({ readOnlyHint, destructiveHint, idempotentHint }: Members): ToolHints {
  const isReadOnly = readOnlyHint === true;
  return {
    isReadOnly,
    isDestructive: !isReadOnly && destructiveHint !== false,
    isIdempotent: isReadOnly || idempotentHint === true,
  };
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
