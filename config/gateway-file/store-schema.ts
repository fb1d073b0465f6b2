// Where the gateway keeps accepted events and what belongs to them: in a file of its state folder, or in PostgreSQL, which several gateways
// share.

import * as Type from 'typebox';

const postgresSchema = Type.Object(
  {
    url: Type.String({
      description:
        'The database: postgres://user:password@host:5432/name. Its user must be able to make a schema.',
      pattern: '^postgres(ql)?://[^\\s]+$',
      patternErrorMessage: 'an address that begins with postgres://',
      writeOnly: true,
    }),
    connections: Type.Integer({
      description: 'Connections to it at the same time, one for notifications besides.',
      default: 10,
      minimum: 2,
      maximum: 1_000,
    }),
  },
  { description: 'A PostgreSQL of version 13 or newer.' },
);

export const storeSchema = Type.Object(
  { postgres: Type.Optional(postgresSchema) },
  {
    description:
      'Where accepted events, conversations and runs are kept; without it in a file of state_dir. Taken over with a start alone.',
    default: {},
  },
);

export const nodeSchema = Type.Object(
  {
    name: Type.Optional(
      Type.String({
        description:
          'What this gateway is called among those that share a database; without it the name of the machine. Two that run have two names.',
        pattern: '^[A-Za-z0-9._-]{1,63}$',
        patternErrorMessage: 'up to 63 letters, digits, dots, dashes or underscores',
      }),
    ),
  },
  { description: 'This gateway as one of several on one PostgreSQL.', default: {} },
);
