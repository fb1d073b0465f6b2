// What may stand under `config` of a node, by its type. What may be any value (`arguments`, `body`, `set`, `output`) stands in no schema.

import * as Type from 'typebox';
import { serverIdPattern } from '../../catalog/catalog-schema.ts';
import { seconds } from '../../duration-schema.ts';
import { headersByName, name, text } from '../../text-schema.ts';
import { approvalFields } from '../approval-rules.ts';
import type { NodeType } from './flow.ts';

const input = Type.Optional(Type.String({ description: 'What it is asked; a template.' }));

const { approval_timeout_seconds, ...whoDecides } = approvalFields;

export const nodeSchemas = {
  Agent: Type.Object({ agent: Type.Optional(name('Agent that is asked.')), input }),
  Fleet: Type.Object({ fleet: Type.Optional(name('Fleet that is asked.')), input }),
  Tool: Type.Object({
    server: Type.String({
      description: 'Server of the catalog, by id.',
      pattern: serverIdPattern,
      patternErrorMessage: '1 to 64 of A-Z a-z 0-9 . _ -',
      shownAs: 'name',
    }),
    tool: name('Tool that is called.'),
    timeout_seconds: seconds('The call may take this long.', 300),
    interrupted_calls: Type.Enum(['fail', 'repeat'], {
      description:
        'A call that was begun, and of which nobody knows whether it happened: the node fails, or makes it again under the same key.',
      default: 'fail',
    }),
  }),
  HTTP: Type.Object({
    method: Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'], {
      description: 'Method of the request.',
      default: 'GET',
    }),
    url: {
      ...text(
        'Address, http or https. Its path segments and query parameters may have templates; each value is percent-encoded.',
      ),
      shownAs: 'address',
    },
    url_allow: Type.Optional(
      Type.Array(text('A prefix: scheme, host and path, up to a slash.'), {
        description:
          'Prefixes of the addresses that a url may lead to if it is one template: https://api.example.com/v1/.',
        maxItems: 32,
      }),
    ),
    allow_private: Type.Optional(
      Type.Boolean({
        description:
          'Allow connections to loopback, private and other reserved addresses. If not set: allowed for a url that names its host, refused for one that is a template.',
      }),
    ),
    headers: headersByName('Headers of the request; templates.'),
    timeout_seconds: seconds('The answer may take this long.', 60),
  }),
  Approval: Type.Object({
    message: text('What is asked; a template.'),
    ...whoDecides,
    timeout_seconds: { ...approval_timeout_seconds },
  }),
  Response: Type.Object({
    text: text('What is said; a template.'),
    channel: Type.Optional(name('Where it is said, if not where the flow was asked for; a template.')),
  }),
  Conditional: Type.Object({}),
  Parallel: Type.Object({}),
  Join: Type.Object({
    strategy: Type.Enum(['all', 'any', 'majority'], {
      description:
        'Of the connections that lead to it: all are waited for, one is enough, or more than half of them.',
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
        { description: 'So long, up to 366 days; a number, or a template that gives one.' },
      ),
    ),
    until: Type.Optional(text('A time, as 2026-12-24T18:00:00Z; a template.')),
  }),
  Transform: Type.Object({}),
  Loop: Type.Object({
    over: Type.Optional(text('A list, of which each member has a turn as `item`; an expression.')),
    while: Type.Optional(
      text(
        'There is a further turn while it holds; an expression, with `index` from 0 and `last`, what the turn before has given (null before the first).',
      ),
    ),
    max: Type.Integer({ description: 'So many turns at most.', default: 100, minimum: 1, maximum: 900 }),
  }),
  End: Type.Object({
    status: Type.Enum(['done', 'failed'], { description: 'How the flow has ended.', default: 'done' }),
  }),
} as const satisfies Readonly<Record<NodeType, Type.TObject>>;

export const nodeTypes = Object.keys(nodeSchemas) as readonly NodeType[];

/** Members of `config` that may be anything, and are read one by one. */
export const freeMembers: Readonly<Partial<Record<NodeType, readonly string[]>>> = {
  Agent: ['spec'],
  Fleet: ['spec'],
  Tool: ['arguments'],
  HTTP: ['body'],
  Transform: ['set'],
  Loop: ['nodes', 'connections'],
  End: ['output'],
};
