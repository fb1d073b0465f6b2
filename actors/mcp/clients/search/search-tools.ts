// The definitions of the three tools that clients see instead of all with `expose: search`. They do not depend on the
// catalog: the bytes are the same whatever servers come and go.

import { rawJson } from '../../jsonrpc/span.ts';

export const DEFAULT_LIMIT = 10;
export const MAX_LIMIT = 50;
export const MAX_QUERY_LENGTH = 1000;
const MAX_NAME_LENGTH = 1000;

const nameSchema = {
  type: 'string',
  description: 'The name of a tool as find_tools gives it.',
  minLength: 1,
  maxLength: MAX_NAME_LENGTH,
};

/** They look into what the gateway has of the tools; nothing is started or changed. */
const looking = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

const definitions = {
  find_tools: {
    name: 'find_tools',
    title: 'Find tools',
    description:
      'Searches the tools of all connected servers by words and gives the best matches with their names. ' +
      'Describe in a few words what is to be done, such as "create issue" or "read file"; an empty query lists ' +
      'tools server by server. Then call describe_tool for the arguments a tool takes, and call_tool to use it.',
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description: 'What the tool should do, in a few words, or its name.',
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
          description: 'The most tools to give.',
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
              description: { type: 'string', description: 'Its beginning, where it is long.' },
              server: { type: 'string', description: 'The id of the server it belongs to.' },
              tags: { type: 'array', items: { type: 'string' }, description: 'Tags of that server.' },
              score: { type: 'number', description: 'Higher is better; 0 in an answer to an empty query.' },
            },
            required: ['name', 'server', 'score'],
            additionalProperties: false,
          },
        },
        total: { type: 'integer', description: 'How many tools match in all.', minimum: 0 },
        hint: { type: 'string', description: 'What to try next.' },
      },
      required: ['tools', 'total'],
      additionalProperties: false,
    },
    annotations: { title: 'Find tools', ...looking },
  },
  describe_tool: {
    name: 'describe_tool',
    title: 'Describe a tool',
    description: 'Gives the full definition of one tool: what it does and the JSON Schema of its arguments.',
    inputSchema: {
      type: 'object',
      properties: { name: nameSchema },
      required: ['name'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: { tool: { type: 'object', description: 'The definition as its server gives it.' } },
      required: ['tool'],
      additionalProperties: false,
    },
    annotations: { title: 'Describe a tool', ...looking },
  },
  call_tool: {
    name: 'call_tool',
    title: 'Call a tool',
    description:
      'Calls a tool that find_tools has found, with the arguments that describe_tool tells of. ' +
      "The result is the tool's own.",
    inputSchema: {
      type: 'object',
      properties: {
        name: nameSchema,
        arguments: { type: 'object', description: "The tool's own arguments; none if left out." },
      },
      required: ['name'],
      additionalProperties: false,
    },
    // Of the tool behind it nothing is known here, so that the worst is to be expected.
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

/** Whether the name is one of the three; no tool of a server has such a name, as theirs begin with an id and `__`. */
export function isSearchTool(name: string | undefined): name is SearchToolName {
  return name !== undefined && Object.hasOwn(definitions, name);
}

/** The members that the arguments of such a tool may have. */
export function argumentNames(tool: SearchToolName): readonly string[] {
  return Object.keys(definitions[tool].inputSchema.properties);
}

/** The result of `tools/list` under `expose: search`, as raw JSON in Latin-1. */
export const rawSearchTools = `{"tools":${rawJson(Object.values(definitions))}}`;
