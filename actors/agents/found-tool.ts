// A tool as its server lists it, as an agent needs it. Whatever a server says of its tools is what a stranger says.

import type { ToolHints } from '../../machines/agent-run/journal.ts';
import type { Tool } from '../client/in-process-client.ts';
import type { FoundTool } from './tool-box.ts';

type Members = Readonly<Record<string, unknown>>;

/** Undefined for one that could not be called. */
export function foundTool(
  server: string,
  { name, description, title, inputSchema, annotations }: Tool,
): FoundTool | undefined {
  if (typeof name !== 'string' || name === '') return undefined;
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
