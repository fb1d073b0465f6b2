// Schema of fleet files. In a fleet several agents, its members, work on one event; a mode of coordination
// decides in which order they run and how their answers are combined.

import * as Type from 'typebox';
import { seconds } from '../../duration-schema.ts';
import { name } from '../../text-schema.ts';
import { budgetSchema } from '../agents/agent-schema.ts';
import { resourceHeader } from '../resource-header.ts';

const memberName = (description: string) =>
  Type.String({
    description,
    pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,47}$',
    patternErrorMessage: 'a name of A-Z a-z 0-9 _ -, beginning with a letter',
    // Allows the API to show the value, see reader/visible-values.ts.
    shownAs: 'name',
  });

const memberSchema = Type.Object({
  name: memberName('Unique name in the fleet.'),
  agent: Type.Optional(name('Name of an Agent. Default without `spec`: the name of the member.')),
  description: Type.Optional(Type.String({ description: 'Description of the member for a manager.' })),
  weight: Type.Number({ description: 'Weight of the vote.', default: 1, minimum: 0.001, maximum: 1_000 }),
  role: Type.Enum(['member', 'manager'], {
    description: 'Role in the fleet; a manager leads the others.',
    default: 'member',
  }),
  tier: Type.Integer({
    description: 'Tier; tiers run one after another.',
    default: 1,
    minimum: 1,
    maximum: 16,
  }),
});

const consensusSchema = Type.Object(
  {
    field: Type.String({
      description: 'Answer field for the vote.',
      pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$',
      patternErrorMessage: 'the name of a field of output_schema',
    }),
    algorithm: Type.Enum(['majority', 'unanimous', 'weighted'], {
      description:
        'Required votes: more than half of the members, all members, or more than half of the total weight.',
      default: 'majority',
    }),
    min_votes: Type.Integer({ description: 'Quorum.', default: 1, minimum: 1, maximum: 64 }),
    on_none: Type.Union(
      [Type.Enum(['fail']), Type.Object({ agent: memberName('Name of the member that decides.') })],
      {
        description: 'Without a result: the fleet fails, or the named member decides.',
        default: 'fail',
      },
    ),
  },
  { description: 'Vote on an answer field.' },
);

const coordinationSchema = Type.Object(
  {
    mode: Type.Enum(['pipeline', 'peer', 'hierarchical', 'tiered'], {
      description: 'Execution of the members: in sequence, in parallel, led by a manager, or tier by tier.',
    }),
    consensus: Type.Optional(consensusSchema),
    aggregation: Type.Optional(
      Type.Enum(['merge', 'manager'], {
        description: 'Alternative to a vote: all answers by member name, or the answer of a manager.',
      }),
    ),
  },
  { description: 'Coordination of the members.' },
);

export const fleetSpecSchema = Type.Object(
  {
    description: Type.Optional(Type.String({ description: 'Purpose of the fleet.' })),
    agents: Type.Array(memberSchema, { description: 'Members.', maxItems: 64 }),
    coordination: coordinationSchema,
    on_failure: Type.Enum(['fail', 'skip'], {
      description: 'Failure of a member without a vote: fail the fleet, or skip the member.',
      default: 'fail',
    }),
    budget: budgetSchema,
    timeout_seconds: seconds('Maximum working time, without the time spent waiting for people.', 600),
    concurrency: Type.Integer({
      description: 'Maximum concurrent members.',
      default: 8,
      minimum: 1,
      maximum: 64,
    }),
  },
  { description: 'Members and coordination.' },
);

export const fleetSchema = Type.Object({ ...resourceHeader('Fleet'), spec: fleetSpecSchema });
