// Schemas of the storage for events (a file in the state folder, or PostgreSQL shared by several gateways)
// and of the node settings. SchemaNode (reader/schema-descriptions.ts) explains `secretBy` and `shownAs`.

import * as Type from 'typebox';
import { listenAddrPattern } from './listen-addr.ts';

const postgresSchema = Type.Object(
  {
    url: Type.String({
      description:
        'PostgreSQL URL: postgres://user:password@host:5432/name. The user needs permission to create a schema.',
      pattern: '^postgres(ql)?://[^\\s]+$',
      patternErrorMessage: 'an address that begins with postgres://',
      writeOnly: true,
      secretBy: 'value',
    }),
    connections: Type.Integer({
      description: 'Maximum connections to the database, plus one for notifications.',
      default: 10,
      minimum: 2,
      maximum: 1_000,
    }),
  },
  { description: 'PostgreSQL database, version 13 or later.' },
);

export const storeSchema = Type.Object(
  { postgres: Type.Optional(postgresSchema) },
  {
    description:
      'Storage for accepted events, conversations and runs. Default: a file in state_dir. Changes need a restart.',
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
        description: 'Unique name of this gateway in the cluster. Default: the host name of the machine.',
        pattern: '^[A-Za-z0-9._-]{1,63}$',
        patternErrorMessage: 'up to 63 letters, digits, dots, dashes or underscores',
      }),
    ),
    address: hostAndPort(
      'Cluster address, host:port, for requests from other gateways only. Without it, sessions stay at the gateway that created them.',
    ),
    bind: hostAndPort('Listen address for other gateways. Default: address.'),
    secret: Type.Optional(
      Type.String({
        description: `Cluster secret, the same on all gateways, for authentication and sealed session ids. Required with address. Use a reference: \${CLUSTER_SECRET}.`,
        pattern: '^\\S.{14,1022}\\S$',
        patternErrorMessage: 'at least 16 characters on one line, without spaces at either end',
        writeOnly: true,
      }),
    ),
    tls: Type.Optional(
      Type.Object(
        {
          cert: file('Certificate of this gateway (PEM) for the host in address; relative to this file.'),
          key: file('Private key of the certificate (PEM).'),
          ca: file('CA certificate that signs the gateway certificates (PEM).'),
        },
        {
          description:
            'Mutual TLS between gateways; all gateways need it, or none. Default: encryption with a key derived from the secret.',
        },
      ),
    ),
  },
  {
    description:
      'Cluster settings of this gateway. Gateways with the same PostgreSQL database form a cluster.',
    default: {},
  },
);
