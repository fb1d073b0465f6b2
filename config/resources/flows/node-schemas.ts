// Schemas of the `config` of a flow's nodes, by node type. They lack the members that are read separately
// (`untypedMembers`), such as a Tool's `arguments`, which may have any value, and a Loop's nodes.

import * as Type from 'typebox';
import { serverIdPattern } from '../../catalog/catalog-schema.ts';
import { seconds } from '../../duration-schema.ts';
import { headersByName, name, text } from '../../text-schema.ts';
import { approvalFields } from '../approval-rules.ts';
import type { NodeType } from './flow.ts';

const input = Type.Optional(
  Type.String({ description: 'Input; a template. Default: the input of the flow.' }),
);

// In a node, the timeout of an approval is named `timeout_seconds`, as in other nodes.
const { approval_timeout_seconds, ...decisionFields } = approvalFields;

export const nodeSchemas = {
  Agent: Type.Object({ agent: Type.Optional(name('Agent to run.')), input }),
  Fleet: Type.Object({ fleet: Type.Optional(name('Fleet to run.')), input }),
  Tool: Type.Object({
    server: Type.String({
      description: 'Id of a server in the catalog.',
      pattern: serverIdPattern,
      patternErrorMessage: '1 to 64 of A-Z a-z 0-9 . _ -',
      // Allows the API to show the value, see reader/visible-values.ts.
      shownAs: 'name',
    }),
    tool: name('Tool to call.'),
    timeout_seconds: seconds('Call timeout.', 300),
    interrupted_calls: Type.Enum(['fail', 'repeat'], {
      description:
        'Handling of a call with unknown outcome: fail the node, or repeat the call with the same idempotency key.',
      default: 'fail',
    }),
  }),
  HTTP: Type.Object({
    method: Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'], {
      description: 'HTTP method.',
      default: 'GET',
    }),
    url: {
      ...text(
        'URL, http or https. Path segments and query parameters may contain templates; their values are percent-encoded.',
      ),
      shownAs: 'address',
    },
    url_allow: Type.Optional(
      Type.Array(text('Prefix: scheme, host and path, up to a slash.'), {
        description:
          'Allowed prefixes for a url that is a single template; for example, https://api.example.com/v1/.',
        maxItems: 32,
      }),
    ),
    allow_private: Type.Optional(
      Type.Boolean({
        description:
          'Allow connections to loopback, private and other reserved addresses. Default: true for a url with a literal host, false for a single template.',
      }),
    ),
    headers: headersByName('Request headers; templates.'),
    timeout_seconds: seconds('Response timeout.', 60),
  }),
  Approval: Type.Object({
    message: text('Text of the approval request; a template.'),
    ...decisionFields,
    timeout_seconds: { ...approval_timeout_seconds },
  }),
  Response: Type.Object({
    text: text('Text of the message; a template.'),
    channel: Type.Optional(name('Channel; a template. Default: the conversation that started the flow.')),
  }),
  Conditional: Type.Object({}),
  Parallel: Type.Object({}),
  Join: Type.Object({
    strategy: Type.Enum(['all', 'any', 'majority'], {
      description: 'Required incoming connections: all, any, or more than half.',
      default: 'all',
    }),
  }),
  Wait: Type.Object({
    seconds: Type.Optional(
      Type.Union(
        [
          Type.Number({ minimum: 0, maximum: 31_622_400 }),
          Type.String({ pattern: '\\{\\{', patternErrorMessage: 'a number, or {{ }}' }),
        ],
        { description: 'Duration, up to 366 days; a number, or a template for a number.' },
      ),
    ),
    until: Type.Optional(text('Time such as 2026-12-24T18:00:00Z; a template.')),
  }),
  Transform: Type.Object({}),
  Loop: Type.Object({
    over: Type.Optional(text('List for the iteration, with each member as `item`; an expression.')),
    while: Type.Optional(
      text(
        'Condition for the next iteration; an expression, with `index` (from 0) and `last` (result of the previous iteration, null before the first).',
      ),
    ),
    max: Type.Integer({ description: 'Maximum iterations.', default: 100, minimum: 1, maximum: 900 }),
  }),
  End: Type.Object({
    status: Type.Enum(['done', 'failed'], { description: 'Final status of the flow.', default: 'done' }),
  }),
} as const satisfies Readonly<Record<NodeType, Type.TObject>>;

export const nodeTypes = Object.keys(nodeSchemas) as readonly NodeType[];

/** Members of `config` that are read separately: any value, an inline agent or fleet, or a loop's graph. */
export const untypedMembers: Readonly<Partial<Record<NodeType, readonly string[]>>> = {
  Agent: ['spec'],
  Fleet: ['spec'],
  Tool: ['arguments'],
  HTTP: ['body'],
  Transform: ['set'],
  Loop: ['nodes', 'connections'],
  End: ['output'],
};
