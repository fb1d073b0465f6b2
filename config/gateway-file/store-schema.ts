// Where the gateway keeps accepted events and what belongs to them: in a file of its state folder, or in PostgreSQL, which several gateways
// share.

import * as Type from 'typebox';
import { listenAddrPattern } from './listen-addr.ts';

const postgresSchema = Type.Object(
  {
    url: Type.String({
      description:
        'The database: postgres://user:password@host:5432/name. Its user must be able to make a schema.',
      pattern: '^postgres(ql)?://[^\\s]+$',
      patternErrorMessage: 'an address that begins with postgres://',
      writeOnly: true,
      secretBy: 'value',
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

const hostAndPort = (description: string) =>
  Type.Optional(
    Type.String({
      description,
      pattern: listenAddrPattern,
      patternErrorMessage: 'host:port, such as 10.0.0.5:7000 or [fd00::5]:7000',
      shownAs: 'name',
    }),
  );

const file = (description: string) =>
  Type.String({
    description,
    minLength: 1,
    pattern: '^[^\\0]*$',
    patternErrorMessage: 'a path',
    shownAs: 'name',
  });

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
    address: hostAndPort(
      'Where the other gateways reach this one, host:port, and where it listens for them alone. Without it sessions stay with the gateway that began them.',
    ),
    bind: hostAndPort('Where to listen for the others, where that is not address itself.'),
    secret: Type.Optional(
      Type.String({
        description: `The same at all gateways of a database: by it they know each other, and ids of sessions are sealed. Needed with address. Write it as a reference: \${CLUSTER_SECRET}.`,
        pattern: '^\\S.{14,1022}\\S$',
        patternErrorMessage: 'at least 16 characters on one line, without spaces at either end',
        writeOnly: true,
      }),
    ),
    tls: Type.Optional(
      Type.Object(
        {
          cert: file('Certificate of this gateway, PEM, for the host of its address; relative to this file.'),
          key: file('Its private key, PEM.'),
          ca: file('Who signs the certificates of the gateways, PEM.'),
        },
        {
          description:
            'Certificates between the gateways, at both ends; without it they encrypt by a key made of the secret. At all of them or at none.',
        },
      ),
    ),
  },
  { description: 'This gateway as one of several on one PostgreSQL.', default: {} },
);
