// The gateway file: each field with its meaning, default and limits. This schema is read by the loader, gives
// the type of the loaded configuration, and becomes the JSON Schema for editors; nothing is said twice.
// The type is the filled form: a field with a default is optional for the operator and always there in code.

import * as Type from 'typebox';
import { seconds, secondsOrZero } from '../duration-schema.ts';
import { jwtSchema } from '../jwt-schema.ts';
import type { Platforms } from '../resources/resource-context.ts';
import { name, textByKey } from '../text-schema.ts';
import { listenAddrPattern } from './listen-addr.ts';
import { profilesSchema } from './profile-schema.ts';
import { pricesSchema, providersSchema } from './provider-schema.ts';
import { nodeSchema, storeSchema } from './store-schema.ts';

const count = (description: string, byDefault: number) =>
  Type.Integer({ description, default: byDefault, minimum: 1, maximum: 1_000_000 });

/** Node's longest string is 512 MiB; half of it leaves room for the copy that a message becomes. */
const bytes = (description: string, byDefault: number) =>
  Type.Integer({ description, default: byDefault, minimum: 1024, maximum: 268_435_456 });

const folder = (description: string) =>
  Type.Optional(
    Type.String({
      description,
      minLength: 1,
      pattern: '^[^\\0]*$',
      patternErrorMessage: 'a path',
      shownAs: 'name',
    }),
  );

const words = (description: string) => textByKey('^\\S+$', Type.String(), { description });

/** A port as it is written without a host. */
const port = (description: string) =>
  Type.Optional(Type.Integer({ description, minimum: 0, maximum: 65_535 }));

/** The form of a resource, in which the configuration of the triggers is often given. */
const daemonFields = {
  apiVersion: Type.Optional(Type.String({ description: 'GROUP/VERSION; without effect.' })),
  kind: Type.Optional(Type.String({ description: 'The kind of resource; without effect.' })),
  metadata: Type.Optional(
    Type.Object(
      {
        name: Type.Optional(Type.String({ description: 'A name; without effect.' })),
        labels: words('Words; without effect.'),
        annotations: words('Notes; without effect.'),
      },
      { description: 'What the configuration is called.' },
    ),
  ),
  spec: Type.Object(
    {
      triggers: Type.Object(
        {
          directory: folder(
            'Folder of trigger files, relative to this file; without it there are no triggers.',
          ),
          watch: Type.Boolean({
            description: 'Load triggers, agents, fleets and flows again when their files change.',
            default: false,
          }),
        },
        { description: 'Triggers.', default: {} },
      ),
      agents: Type.Object(
        { directory: folder('Folder of agent files, relative to this file.') },
        { description: 'Agents.', default: {} },
      ),
      fleets: Type.Object(
        { directory: folder('Folder of files of fleets, relative to this file.') },
        { description: 'Fleets of agents.', default: {} },
      ),
      flows: Type.Object(
        { directory: folder('Folder of files of flows, relative to this file.') },
        { description: 'Flows.', default: {} },
      ),
      runtime: Type.Object(
        {
          default_agent: Type.Optional(name('Agent for triggers without a default_agent of their own.')),
        },
        { description: 'Who answers.', default: {} },
      ),
      server: Type.Object(
        {
          port: port('Port to listen on, in place of listen_addr.'),
          host: Type.Optional(name('Host to listen on, in place of listen_addr. Default 127.0.0.1.')),
        },
        { description: 'The listener.', default: {} },
      ),
    },
    {
      description: 'Triggers, agents, fleets and flows. Any kind of file may be in any of their folders.',
      default: {},
    },
  ),
  // What may stand in it, read-platforms.ts knows.
  platforms: Type.Unsafe<Platforms>({
    type: 'object',
    description: 'Platforms by their words, such as repohost: settings that hold for all triggers of theirs.',
    default: {},
  }),
  http_port: port(
    'Port to listen on, in place of listen_addr. Default 8080 in a file with spec or platforms.',
  ),
  deliveries: Type.Object(
    {
      retention_days: Type.Number({
        description: 'Records of deliveries are kept this long, and the same delivery is known again.',
        default: 7,
        exclusiveMinimum: 0,
        maximum: 3650,
      }),
      remember_days: Type.Number({
        description: 'A conversation that is not gone on with is forgotten after so long.',
        default: 30,
        exclusiveMinimum: 0,
        maximum: 3650,
      }),
      max_waiting: count('Events that may wait; one more is refused.', 100_000),
      concurrency: count(
        'Conversations that are answered at the same time. One agent or trigger alone gets half of them.',
        256,
      ),
    },
    { description: 'What triggers have accepted.', default: {} },
  ),
};

/** The public registry of servers. */
export const DEFAULT_REGISTRY = 'https://registry.modelcontextprotocol.io';

export const gatewaySchema = Type.Object(
  {
    listen_addr: Type.String({
      description: 'Address to listen on, host:port; port 0 takes a free one. IPv6 in brackets: [::1]:8080.',
      pattern: listenAddrPattern,
      patternErrorMessage: 'host:port, such as 127.0.0.1:8080 or [::1]:8080',
      shownAs: 'name',
    }),
    catalog_path: Type.String({
      description: "The server catalog (YAML, or a desktop client's JSON), relative to this file.",
      minLength: 1,
      pattern: '^[^\\0]*$',
      patternErrorMessage: 'a path',
      shownAs: 'name',
    }),
    api_key: Type.String({
      description: `When not empty, every request but GET /health needs this key. Write it as a reference: \${GATEWAY_API_KEY}.`,
      default: '',
      // Anything else cannot be sent in a header as it is.
      pattern: '^([!-~]([ -~]*[!-~])?)?$',
      patternErrorMessage: 'printable ASCII characters without spaces or line breaks at either end',
      writeOnly: true,
    }),
    auth: Type.Object(
      {
        jwt: Type.Optional(
          jwtSchema(
            'Besides the api_key, JSON Web Tokens of this issuer are taken in Authorization: Bearer. Needs an api_key.',
          ),
        ),
      },
      { description: 'Who may ask, besides whoever has the api_key.', default: {} },
    ),
    log_level: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      description: 'Least level that is logged.',
      default: 'info',
    }),
    state_dir: Type.String({
      description:
        'Folder for what the gateway keeps: accepted events, conversations, child records, lists. Relative to this file; one gateway per folder.',
      default: './.gateway',
      minLength: 1,
      pattern: '^[^\\0]*$',
      patternErrorMessage: 'a path',
      shownAs: 'name',
    }),
    store: storeSchema,
    node: nodeSchema,
    allowed_hosts: Type.Array(
      Type.String({
        pattern: '^([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?$',
        patternErrorMessage: 'a host name or address, with or without :port',
      }),
      {
        description: 'Values of the Host header accepted beyond the listen address and the loopback names.',
        default: [],
      },
    ),
    allowed_origins: Type.Array(
      Type.String({
        pattern: '^[A-Za-z][A-Za-z0-9+.-]*://[^\\s/?#@*]+$',
        patternErrorMessage: 'an origin such as https://app.example.com, without path or wildcard',
      }),
      {
        description: 'Web origins that may call the gateway beyond its own; they get CORS answers.',
        default: [],
      },
    ),
    limits: Type.Object(
      {
        body_bytes: bytes('Largest request body.', 16_777_216),
        message_bytes: bytes('Largest single message from or to a server.', 16_777_216),
        in_flight: count(
          'Requests in flight over the whole gateway; one server, or one session, alone gets half of them.',
          1024,
        ),
        sessions: count('Client sessions at the same time.', 10_000),
        session_idle_seconds: seconds('A client session ends after this long without use.', 1800),
      },
      { description: 'Bounds of the gateway as a whole.', default: {} },
    ),
    expose: Type.Enum(['all', 'search'], {
      description:
        'What clients at /mcp see of the tools: all of them, or three tools that search, describe and call them.',
      default: 'all',
    }),
    profiles: profilesSchema,
    list_timeout_seconds: secondsOrZero(
      "A client's list request waits at most this long for lists that nobody has ever known; 0 = not at all.",
      25,
    ),
    learn: Type.Optional(
      Type.Enum(['at_start', 'on_demand'], {
        description:
          'When servers are started whose lists are not known yet: once, eight at a time, as soon as the gateway runs, or when a client asks for a list. Servers whose lists are known are not started for that. Without this field at_start for gateway-stdio, and on_demand for gateway-http.',
      }),
    ),
    shutdown_seconds: secondsOrZero(
      "The gateway's end takes no longer; calls in flight may take it less 2.5 s. Of a server that is stopped, calls in flight may take all of it; then its processes are ended, within 2.5 s.",
      10,
    ),
    inspector: Type.Object(
      {
        enabled: Type.Optional(
          Type.Boolean({
            description:
              'Serve the page at /inspector. Without this field it is served wherever a key is set or nobody but this machine can reach the listener.',
          }),
        ),
        commands: Type.Boolean({
          description:
            'Let the page start and stop servers, pause triggers, cancel runs, decide approvals, call tools and reload the catalog.',
          default: false,
        }),
        stately: Type.Boolean({
          description:
            'Serve /inspector/stately as well, the stream that viewers of @statelyai/inspect understand.',
          default: false,
        }),
        insecure: Type.Boolean({
          description:
            'Allow `enabled: true` beyond loopback without an api_key: whoever reaches the listener can watch.',
          default: false,
        }),
      },
      { description: 'The page that shows what the gateway is doing.', default: {} },
    ),
    registry_url: Type.String({
      description: 'The registry that search and install ask; its address without /v0.1.',
      default: DEFAULT_REGISTRY,
      pattern: '^https?://[^\\s?#@]+$',
      patternErrorMessage: 'an address that begins with http:// or https://',
      shownAs: 'address',
    }),
    providers: providersSchema,
    prices: pricesSchema,
    ...daemonFields,
  },
  { description: 'Configuration of the gateway.' },
);

/**
 * The loaded gateway file, everything filled: `catalog_path`, `state_dir` and the folders in `spec` are absolute,
 * `catalog_path` is '' without one, `allowed_hosts` and `allowed_origins` in lower case, `api_key` is '' when
 * authentication is off. `listen_addr` is where the gateway listens, however that was written.
 */
export type GatewayConfig = Type.Static<typeof gatewaySchema>;
