// Schema of flow files (graphs of nodes that answer an event). It has only the fields that all nodes share;
// node-schemas.ts has the `config` per type of node.

import * as Type from 'typebox';
import { seconds } from '../../duration-schema.ts';
import { name } from '../../text-schema.ts';
import { resourceHeader } from '../resource-header.ts';
import { parameterSchema } from '../triggers/binding-schema.ts';

/** Pattern of a node's id. */
export const nodeId = '^[A-Za-z_][A-Za-z0-9_-]{0,63}$';

const id = (description: string) =>
  Type.String({
    description,
    pattern: nodeId,
    patternErrorMessage: 'a name of A-Z a-z 0-9 _ -, beginning with a letter',
    // Allows the API to show the value, see reader/visible-values.ts.
    shownAs: 'name',
  });

const retrySchema = Type.Object(
  {
    attempts: Type.Integer({
      description: 'Maximum attempts, including the first.',
      default: 1,
      minimum: 1,
      maximum: 100,
    }),
    min_backoff_seconds: seconds('Initial backoff.', 1),
    max_backoff_seconds: seconds('Maximum backoff.', 60),
    factor: Type.Number({
      description: 'Backoff multiplier.',
      default: 2,
      minimum: 1,
      maximum: 10,
    }),
  },
  { description: 'Retries after failures.', default: {} },
);

export const nodeSchema = Type.Object({
  id: id('Unique name in the flow.'),
  type: Type.String({ description: 'Type of the node.' }),
  description: Type.Optional(Type.String({ description: 'Purpose of the node.' })),
  retry: retrySchema,
  on_error: Type.Optional(id('Next node after a failure.')),
});

export const connectionSchema = Type.Object({
  from: id('Node that must succeed first.'),
  to: id('Next node.'),
  when: Type.Optional(
    name('Condition: an expression, `else`, or after an Approval `approved`, `denied`, `expired`.'),
  ),
});

export const flowSpecSchema = Type.Object(
  {
    description: Type.Optional(Type.String({ description: 'Purpose of the flow.' })),
    parameters: Type.Array(parameterSchema, {
      description: 'Input parameters.',
      default: [],
      maxItems: 32,
    }),
    timeout_seconds: seconds('Maximum duration, including waits.', 604_800),
  },
  { description: 'Nodes and their connections.' },
);

export const flowSchema = Type.Object({ ...resourceHeader('Flow'), spec: flowSpecSchema });
