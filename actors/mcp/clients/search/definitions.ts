// Definitions of the three search tools find_tools, describe_tool and call_tool. With `expose: search` in the
// gateway file, clients see them instead of the tools of all servers. They do not depend on the catalog, so
// their bytes never change.

import { rawJson } from '../../jsonrpc/span.ts';

export const DEFAULT_LIMIT = 10;
export const MAX_LIMIT = 50;
export const MAX_QUERY_LENGTH = 1000;
const MAX_NAME_LENGTH = 1000;

const nameSchema = {
  type: 'string',
  description: 'The name of a tool as returned by find_tools.',
  minLength: 1,
  maxLength: MAX_NAME_LENGTH,
};

/** Annotations of tools that only read the lists. */
const readOnly = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

const definitions = {
  find_tools: {
    name: 'find_tools',
    title: 'Find tools',
    description:
      'Searches the tools of all connected servers and returns the best matches with their names. ' +
      'Describe the task in a few words, such as "create issue" or "read file"; an empty query lists ' +
      'tools server by server. Then call describe_tool for the arguments of a tool, and call_tool to use it.',
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description: 'The task in a few words, or the name of the tool.',
          maxLength: MAX_QUERY_LENGTH,
        },
        server: { type: 'string', description: 'Only tools of the server with this id.' },
        tags: {
          type: 'array',
          items: { type: 'string' },
          description: 'Only tools of servers with at least one of these tags.',
        },
        limit: {
          type: 'integer',
          description: 'Maximum number of tools.',
          minimum: 1,
          maximum: MAX_LIMIT,
          default: DEFAULT_LIMIT,
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        tools: {
          type: 'array',
          description: 'The best match first.',
          items: {
            type: 'object',
            properties: {
              name: { type: 'string' },
              title: { type: 'string' },
              description: { type: 'string', description: 'Shortened if it is long.' },
              server: { type: 'string', description: 'The id of its server.' },
              tags: { type: 'array', items: { type: 'string' }, description: 'Tags of that server.' },
              score: { type: 'number', description: 'Higher is better; 0 for an empty query.' },
            },
            required: ['name', 'server', 'score'],
            additionalProperties: false,
          },
        },
        total: { type: 'integer', description: 'Total number of matches.', minimum: 0 },
        hint: { type: 'string', description: 'A suggested next step.' },
      },
      required: ['tools', 'total'],
      additionalProperties: false,
    },
    annotations: { title: 'Find tools', ...readOnly },
  },
  describe_tool: {
    name: 'describe_tool',
    title: 'Describe a tool',
    description: 'Returns the full definition of one tool: its purpose and the JSON Schema of its arguments.',
    inputSchema: {
      type: 'object',
      properties: { name: nameSchema },
      required: ['name'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: { tool: { type: 'object', description: 'The definition as sent by its server.' } },
      required: ['tool'],
      additionalProperties: false,
    },
    annotations: { title: 'Describe a tool', ...readOnly },
  },
  call_tool: {
    name: 'call_tool',
    title: 'Call a tool',
    description:
      'Calls a tool found by find_tools, with the arguments described by describe_tool. ' +
      'Returns the result of the tool.',
    inputSchema: {
      type: 'object',
      properties: {
        name: nameSchema,
        arguments: { type: 'object', description: 'The arguments of the tool; none by default.' },
      },
      required: ['name'],
      additionalProperties: false,
    },
    // The called tool is unknown here, so the annotations assume the worst.
    annotations: {
      title: 'Call a tool',
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    },
  },
};

export type SearchToolName = keyof typeof definitions;

/** Returns true for a search tool. Names of server tools always contain a server id and `__`. */
export function isSearchTool(name: string | undefined): name is SearchToolName {
  return name !== undefined && Object.hasOwn(definitions, name);
}

/** Returns the argument names. */
export function argumentNames(tool: SearchToolName): readonly string[] {
  return Object.keys(definitions[tool].inputSchema.properties);
}

/** The result of `tools/list` under `expose: search`, as raw JSON in Latin-1. */
export const rawSearchTools = `{"tools":${rawJson(Object.values(definitions))}}`;
