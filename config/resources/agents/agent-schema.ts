// Schema of agent files: an agent answers events with a model and tools, or with an external program
// (`runtime`). Before validation, agent-aliases.ts translates the notations of other programs.

import * as Type from 'typebox';
import { toolPattern } from '../../catalog/catalog-schema.ts';
import { seconds } from '../../duration-schema.ts';
import { headersByName, variablesByName } from '../../text-schema.ts';
import { approvalFields } from '../approval-rules.ts';
import { address } from '../fields/address.ts';
import { resourceHeader } from '../resource-header.ts';
import { MAX_HISTORY_CHARACTERS, MAX_HISTORY_MESSAGES } from './history-limits.ts';
import { textFormats } from './text-format.ts';
import { toolServersSchema } from './tool-server-schema.ts';

const runtimeSchema = Type.Object(
  {
    http: Type.Object(
      {
        url: address('URL of the program that runs the agent.'),
        headers: headersByName('HTTP headers sent with every request.'),
        timeout_seconds: seconds('Response timeout.', 300),
      },
      { description: 'External program with an HTTP endpoint.' },
    ),
  },
  { description: 'External runtime of the agent, instead of a model.' },
);

const modelName = (description: string) =>
  Type.String({
    description,
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*:\\S(.*\\S)?$',
    patternErrorMessage: 'PROVIDER:MODEL, such as google:gemini-2.5-flash',
    // Allows the API to show the value, see reader/visible-values.ts.
    shownAs: 'name',
  });

/** Schema of glob patterns for tool names. */
const patterns = (description: string) =>
  Type.Array(toolPattern, { description, default: [], maxItems: 1000 });

const policySchema = Type.Object(
  {
    deny: patterns(
      'Hidden tools: glob patterns of TOOL, SERVER/TOOL or SERVER__TOOL; the words destructive and readonly select tools by this hint.',
    ),
    ask: patterns('Tools that need approval for each call; same patterns as deny.'),
    ...approvalFields,
  },
  { description: 'Tool policy: first deny, then ask; other tools need no approval.', default: {} },
);

export const memorySchema = Type.Object(
  {
    messages: Type.Integer({
      description: 'Maximum previous messages sent to the model; 0 = none.',
      default: MAX_HISTORY_MESSAGES,
      minimum: 0,
      maximum: 1000,
    }),
    characters: Type.Integer({
      description: 'Maximum total characters of these messages; the oldest are dropped.',
      default: MAX_HISTORY_CHARACTERS,
      minimum: 1,
      maximum: 4_194_304,
    }),
  },
  { description: 'Conversation memory.' },
);

export const budgetSchema = Type.Object(
  {
    tokens: Type.Optional(
      Type.Integer({ description: 'Maximum input and output tokens.', minimum: 1, maximum: 1_000_000_000 }),
    ),
    tool_calls: Type.Optional(
      Type.Integer({ description: 'Maximum tool calls.', minimum: 0, maximum: 1_000_000 }),
    ),
    cost: Type.Optional(
      Type.Number({
        description: 'Maximum cost, by the prices in the gateway file.',
        exclusiveMinimum: 0,
        maximum: 1_000_000,
      }),
    ),
  },
  { description: 'Limits per run; a run that would exceed them ends.', default: {} },
);

/** Fields for agents with a model; refused for other runtimes. */
export const modelFields = {
  fallback: Type.Array(modelName('Model.'), {
    description: 'Fallback models, in order of preference.',
    default: [],
    maxItems: 10,
  }),
  max_iterations: Type.Integer({
    description: 'Maximum model calls per run; the last call has no tools.',
    default: 20,
    minimum: 1,
    maximum: 1000,
  }),
  timeout_seconds: seconds('Maximum working time per run, without the time spent waiting for people.', 300),
  retries: Type.Integer({
    description: 'Maximum retries per model call.',
    default: 3,
    minimum: 0,
    maximum: 20,
  }),
  policy: policySchema,
  interrupted_calls: Type.Enum(['tell', 'repeat', 'ask', 'fail'], {
    description:
      'Handling of a tool call with unknown outcome after a crash: tell the model, repeat the call, ask an approver, or fail the run.',
    default: 'tell',
  }),
  memory: Type.Optional(
    Type.Union([Type.Enum(['none']), memorySchema], {
      description: 'Conversation memory: none, or its limits.',
    }),
  ),
  output_schema: Type.Optional(
    Type.Unsafe<Readonly<Record<string, unknown>>>({
      type: 'object',
      description: 'JSON Schema of the answer, with type object.',
    }),
  ),
  budget: budgetSchema,
};

export const agentSpecSchema = Type.Object(
  {
    model: Type.Optional(
      modelName(
        'PROVIDER:MODEL, such as google:gemini-2.5-flash; scripted:FILE answers from a script, relative to this file.',
      ),
    ),
    runtime: Type.Optional(runtimeSchema),
    description: Type.Optional(Type.String({ description: 'Purpose of the agent.' })),
    format: Type.Enum([...textFormats], {
      description:
        'Form of the answers in chats: markdown is converted to the dialect of the chat, native is sent as the dialect of the chat, plain is shown without markup.',
      default: 'markdown',
    }),
    system_prompt: Type.Optional(Type.String({ description: 'System prompt.' })),
    temperature: Type.Optional(Type.Number({ description: 'Sampling temperature.', minimum: 0, maximum: 2 })),
    max_tokens: Type.Optional(
      Type.Integer({ description: 'Maximum tokens per answer.', minimum: 1, maximum: 100_000_000 }),
    ),
    mcp_servers: toolServersSchema,
    env: variablesByName(
      'Environment variables for all inline local servers; those of a server take precedence.',
    ),
    tools: patterns(
      'Filter for the tools of its servers: glob patterns of TOOL, SERVER/TOOL or SERVER__TOOL. Default: all tools.',
    ),
    ...modelFields,
  },
  { description: 'Instructions, tools and runtime.' },
);

export type AgentSpec = Type.Static<typeof agentSpecSchema>;

export const agentSchema = Type.Object({ ...resourceHeader('Agent'), spec: agentSpecSchema });
