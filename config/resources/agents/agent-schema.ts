// An agent resource: what it is told, what it may use, and who runs it.

import * as Type from 'typebox';
import { seconds } from '../../duration-schema.ts';
import { headersByName, text, variablesByName } from '../../text-schema.ts';
import { address } from '../fields/address.ts';
import { resourceHeader } from '../resource-header.ts';

const toolServerSchema = Type.Object({
  name: text('Label of the server.'),
  command: text('Program to run; not a shell line.'),
  args: Type.Array(Type.String(), { description: 'Arguments, one per item.', default: [], maxItems: 1000 }),
  env: variablesByName('Environment of the program.'),
});

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
  { description: 'Who runs the agent.' },
);

export const agentSpecSchema = Type.Object(
  {
    model: Type.Optional(
      Type.String({
        description: 'PROVIDER:MODEL; scripted:FILE answers from a file beside this one.',
        pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*:\\S(.*\\S)?$',
        patternErrorMessage: 'PROVIDER:MODEL, such as scripted:./answers.yaml',
      }),
    ),
    runtime: Type.Optional(runtimeSchema),
    description: Type.Optional(Type.String({ description: 'What it is for.' })),
    system_prompt: Type.Optional(Type.String({ description: 'What it is told before anything else.' })),
    temperature: Type.Optional(
      Type.Number({ description: 'How freely it may choose its words.', minimum: 0, maximum: 2 }),
    ),
    max_tokens: Type.Optional(
      Type.Integer({ description: 'Longest answer.', minimum: 1, maximum: 100_000_000 }),
    ),
    mcp_servers: Type.Array(toolServerSchema, {
      description: 'Tool servers it may use.',
      default: [],
      maxItems: 100,
    }),
    tools: Type.Array(Type.String({ minLength: 1 }), {
      description: 'Names of built-in tools it may use.',
      default: [],
      maxItems: 1000,
    }),
  },
  { description: 'What it is told, what it may use, and who runs it.' },
);

export const agentSchema = Type.Object({ ...resourceHeader('Agent'), spec: agentSpecSchema });
