// An agent resource: what it is told, what it may use, and who runs it. What is written otherwise and means the same,
// agent-aliases.ts translates.

import * as Type from 'typebox';
import { toolPattern } from '../../catalog/catalog-schema.ts';
import { seconds } from '../../duration-schema.ts';
import { headersByName, variablesByName } from '../../text-schema.ts';
import { approvalFields } from '../approval-rules.ts';
import { address } from '../fields/address.ts';
import { resourceHeader } from '../resource-header.ts';
import { KEPT_CHARACTERS, KEPT_MESSAGES } from './kept-history.ts';
import { toolServersSchema } from './tool-server-schema.ts';

const runtimeSchema = Type.Object(
  {
    http: Type.Object(
      {
        url: address('Where the program is that answers for the agent.'),
        headers: headersByName('HTTP headers sent with every request.'),
        timeout_seconds: seconds('An answer may take this long.', 300),
      },
      { description: 'A program behind an address.' },
    ),
  },
  { description: 'Who runs the agent, where that is not the gateway.' },
);

const modelName = (description: string) =>
  Type.String({
    description,
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*:\\S(.*\\S)?$',
    patternErrorMessage: 'PROVIDER:MODEL, such as google:gemini-2.5-flash',
    shownAs: 'name',
  });

const patterns = (description: string) =>
  Type.Array(toolPattern, { description, default: [], maxItems: 1000 });

const policySchema = Type.Object(
  {
    deny: patterns(
      'Tools that it does not see: patterns of TOOL, SERVER/TOOL or SERVER__TOOL, or destructive, or readonly.',
    ),
    ask: patterns('Tools whose calls somebody must approve, each by itself; written as under deny.'),
    ...approvalFields,
  },
  { description: 'What it may do by itself: deny, then ask, then allow.', default: {} },
);

export const memorySchema = Type.Object(
  {
    messages: Type.Integer({
      description: 'So many messages of the conversation are told again; 0 = none.',
      default: KEPT_MESSAGES,
      minimum: 0,
      maximum: 1000,
    }),
    characters: Type.Integer({
      description: 'Of all these messages together; the oldest are left out.',
      default: KEPT_CHARACTERS,
      minimum: 1,
      maximum: 4_194_304,
    }),
  },
  { description: 'What it remembers.' },
);

export const budgetSchema = Type.Object(
  {
    tokens: Type.Optional(
      Type.Integer({ description: 'Tokens, read and written.', minimum: 1, maximum: 1_000_000_000 }),
    ),
    tool_calls: Type.Optional(
      Type.Integer({ description: 'Calls of tools.', minimum: 0, maximum: 1_000_000 }),
    ),
    cost: Type.Optional(
      Type.Number({
        description: 'Cost, by prices of the gateway file.',
        exclusiveMinimum: 0,
        maximum: 1_000_000,
      }),
    ),
  },
  { description: 'What one run may use; a run that would need more ends.', default: {} },
);

/** What only an agent has whose model the gateway asks itself: without effect elsewhere, and then refused. */
export const modelFields = {
  fallback: Type.Array(modelName('A model.'), {
    description: 'Models that are asked in this order where the one before cannot answer.',
    default: [],
    maxItems: 10,
  }),
  max_iterations: Type.Integer({
    description: 'Calls of the model in one run; in the last one it has no tools.',
    default: 20,
    minimum: 1,
    maximum: 1000,
  }),
  timeout_seconds: seconds('A run may work this long; waiting for people does not count.', 300),
  retries: Type.Integer({
    description: 'One call of the model is repeated so often.',
    default: 3,
    minimum: 0,
    maximum: 20,
  }),
  policy: policySchema,
  interrupted_calls: Type.Enum(['tell', 'repeat', 'ask', 'fail'], {
    description:
      'What becomes of a call that a crash has interrupted and that may have happened: the model is told, it is made again, somebody is asked, or the run fails.',
    default: 'tell',
  }),
  memory: Type.Optional(
    Type.Union([Type.Enum(['none']), memorySchema], {
      description: 'What it remembers of a conversation: none, or how much.',
    }),
  ),
  output_schema: Type.Optional(
    Type.Unsafe<Readonly<Record<string, unknown>>>({
      type: 'object',
      description: 'JSON Schema of its answer, of type object.',
    }),
  ),
  budget: budgetSchema,
};

export const agentSpecSchema = Type.Object(
  {
    model: Type.Optional(
      modelName(
        'PROVIDER:MODEL, such as google:gemini-2.5-flash; scripted:FILE answers from a file beside this one.',
      ),
    ),
    runtime: Type.Optional(runtimeSchema),
    description: Type.Optional(Type.String({ description: 'What it is for.' })),
    system_prompt: Type.Optional(Type.String({ description: 'What it is told before anything else.' })),
    temperature: Type.Optional(
      Type.Number({ description: 'How freely it may choose its words.', minimum: 0, maximum: 2 }),
    ),
    max_tokens: Type.Optional(
      Type.Integer({ description: 'Longest answer, in tokens.', minimum: 1, maximum: 100_000_000 }),
    ),
    mcp_servers: toolServersSchema,
    env: variablesByName('Variables for all of its own local servers; those of a server come first.'),
    tools: patterns(
      'Narrows what its servers offer: patterns of TOOL, SERVER/TOOL or SERVER__TOOL; none = all of it.',
    ),
    ...modelFields,
  },
  { description: 'What it is told, what it may use, and who runs it.' },
);

export type AgentSpec = Type.Static<typeof agentSpecSchema>;

export const agentSchema = Type.Object({ ...resourceHeader('Agent'), spec: agentSpecSchema });
