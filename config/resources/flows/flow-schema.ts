// A flow resource, as far as it is the same for all nodes.

import * as Type from 'typebox';
import { seconds } from '../../duration-schema.ts';
import { name } from '../../text-schema.ts';
import { resourceHeader } from '../resource-header.ts';
import { parameterSchema } from '../triggers/binding-schema.ts';

export const nodeId = '^[A-Za-z_][A-Za-z0-9_-]{0,63}$';

const id = (description: string) =>
  Type.String({
    description,
    pattern: nodeId,
    patternErrorMessage: 'a name of A-Z a-z 0-9 _ -, beginning with a letter',
    shownAs: 'name',
  });

const retrySchema = Type.Object(
  {
    attempts: Type.Integer({
      description: 'So often it is tried, the first time included.',
      default: 1,
      minimum: 1,
      maximum: 100,
    }),
    min_backoff_seconds: seconds('First pause.', 1),
    max_backoff_seconds: seconds('Longest pause.', 60),
    factor: Type.Number({
      description: 'Each pause is so many times the one before.',
      default: 2,
      minimum: 1,
      maximum: 10,
    }),
  },
  { description: 'What happens before it has failed.', default: {} },
);

export const nodeSchema = Type.Object({
  id: id('Name of its own in the flow.'),
  type: Type.String({ description: 'What it does.' }),
  description: Type.Optional(Type.String({ description: 'What it is for.' })),
  retry: retrySchema,
  on_error: Type.Optional(id('Node that goes on where this one fails.')),
});

export const connectionSchema = Type.Object({
  from: id('Node that has to end well before.'),
  to: id('Node that comes next.'),
  when: Type.Optional(
    name('When it is taken: an expression, `else`, or after an Approval `approved`, `denied`, `expired`.'),
  ),
});

export const flowSpecSchema = Type.Object(
  {
    description: Type.Optional(Type.String({ description: 'What it is for.' })),
    parameters: Type.Array(parameterSchema, {
      description: 'Values that it is started with.',
      default: [],
      maxItems: 32,
    }),
    timeout_seconds: seconds('It may take this long, waits included.', 604_800),
  },
  { description: 'Its steps, and what leads from one to the other.' },
);

export const flowSchema = Type.Object({ ...resourceHeader('Flow'), spec: flowSpecSchema });
