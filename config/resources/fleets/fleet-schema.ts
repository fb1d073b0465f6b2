// A fleet resource: its members, and how they come to one answer.

import * as Type from 'typebox';
import { seconds } from '../../duration-schema.ts';
import { name } from '../../text-schema.ts';
import { budgetSchema } from '../agents/agent-schema.ts';
import { resourceHeader } from '../resource-header.ts';

const memberName = Type.String({
  description: 'Name of its own in the fleet.',
  pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,47}$',
  patternErrorMessage: 'a name of A-Z a-z 0-9 _ -, beginning with a letter',
  shownAs: 'name',
});

const memberSchema = Type.Object({
  name: memberName,
  agent: Type.Optional(
    name('The Agent of that name; without it and `spec` the one that is called as the member.'),
  ),
  description: Type.Optional(Type.String({ description: 'What a manager is told of it.' })),
  weight: Type.Number({ description: 'What its vote counts.', default: 1, minimum: 0.001, maximum: 1_000 }),
  role: Type.Enum(['member', 'manager'], { description: 'Whether it leads the others.', default: 'member' }),
  tier: Type.Integer({
    description: 'Tiers are asked one after the other.',
    default: 1,
    minimum: 1,
    maximum: 16,
  }),
});

const consensusSchema = Type.Object(
  {
    field: Type.String({
      description: 'Field of the answers on which is voted.',
      pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$',
      patternErrorMessage: 'the name of a field of output_schema',
    }),
    algorithm: Type.Enum(['majority', 'unanimous', 'weighted'], {
      description: 'More than half of all members, all of them, or more than half of all weight.',
      default: 'majority',
    }),
    min_votes: Type.Integer({ description: 'So many have to vote.', default: 1, minimum: 1, maximum: 64 }),
    on_none: Type.Union([Type.Enum(['fail']), Type.Object({ agent: memberName })], {
      description: 'Where there is no result: the fleet fails, or that member decides.',
      default: 'fail',
    }),
  },
  { description: 'A vote on one field of the answers.' },
);

const coordinationSchema = Type.Object(
  {
    mode: Type.Enum(['pipeline', 'peer', 'hierarchical', 'tiered'], {
      description: 'One after the other, all at once, led by a manager, or tier by tier.',
    }),
    consensus: Type.Optional(consensusSchema),
    aggregation: Type.Optional(
      Type.Enum(['merge', 'manager'], {
        description: 'In place of a vote: all answers under their names, or what a manager makes of them.',
      }),
    ),
  },
  { description: 'How they come to one answer.' },
);

export const fleetSpecSchema = Type.Object(
  {
    description: Type.Optional(Type.String({ description: 'What it is for.' })),
    agents: Type.Array(memberSchema, { description: 'Its members.', maxItems: 64 }),
    coordination: coordinationSchema,
    on_failure: Type.Enum(['fail', 'skip'], {
      description: 'Where a member fails that is no voter: the fleet fails, or goes on without.',
      default: 'fail',
    }),
    budget: budgetSchema,
    timeout_seconds: seconds('It may work this long; waiting for people does not count.', 600),
    concurrency: Type.Integer({
      description: 'Members at work at a time.',
      default: 8,
      minimum: 1,
      maximum: 64,
    }),
  },
  { description: 'Who is in it, and how they come to one answer.' },
);

export const fleetSchema = Type.Object({ ...resourceHeader('Fleet'), spec: fleetSpecSchema });
