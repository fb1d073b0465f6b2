// Schema of the gateway file (gateway.yaml): fields with description, default and limits. The schema
// validates the file, defines the type of the loaded configuration, and is exported as JSON Schema for
// editors. Fields with a default are optional in the file and always set in code.

import * as Type from 'typebox';
import { seconds, secondsOrZero } from '../duration-schema.ts';
import { jwtSchema } from '../jwt-schema.ts';
import type { Platforms } from '../resources/resource-context.ts';
import { name, textByKey } from '../text-schema.ts';
import { auditSchema } from './audit-schema.ts';
import { listenAddrPattern } from './listen-addr.ts';
import { profilesSchema } from './profile-schema.ts';
import { pricesSchema, providersSchema } from './provider-schema.ts';
import { nodeSchema, storeSchema } from './store-schema.ts';

const count = (description: string, byDefault: number) =>
  Type.Integer({ description, default: byDefault, minimum: 1, maximum: 1_000_000 });

/** Node's maximum string length is 512 MiB; half of it leaves capacity for a copy of the message. */
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

const textsByName = (description: string) => textByKey('^\\S+$', Type.String(), { description });

/** Port only; the host is separate. */
const port = (description: string) =>
  Type.Optional(Type.Integer({ description, minimum: 0, maximum: 65_535 }));

/** Fields of the resource form (daemon-form.ts): apiVersion, kind, metadata and spec as in trigger files. */
const daemonFields = {
  apiVersion: Type.Optional(Type.String({ description: 'GROUP/VERSION; ignored.' })),
  kind: Type.Optional(Type.String({ description: 'Kind of resource; ignored.' })),
  metadata: Type.Optional(
    Type.Object(
      {
        name: Type.Optional(Type.String({ description: 'Name; ignored.' })),
        labels: textsByName('Labels; ignored.'),
        annotations: textsByName('Annotations; ignored.'),
      },
      { description: 'Metadata of the configuration.' },
    ),
  ),
  spec: Type.Object(
    {
      triggers: Type.Object(
        {
          directory: folder('Folder with trigger files, relative to this file. Default: no triggers.'),
          watch: Type.Boolean({
            description: 'Reload triggers, agents, fleets and flows when their files change.',
            default: false,
          }),
        },
        { description: 'Triggers.', default: {} },
      ),
      agents: Type.Object(
        { directory: folder('Folder with agent files, relative to this file.') },
        { description: 'Agents.', default: {} },
      ),
      fleets: Type.Object(
        { directory: folder('Folder with fleet files, relative to this file.') },
        { description: 'Fleets of agents.', default: {} },
      ),
      flows: Type.Object(
        { directory: folder('Folder with flow files, relative to this file.') },
        { description: 'Flows.', default: {} },
      ),
      runtime: Type.Object(
        {
          default_agent: Type.Optional(name('Agent for triggers without a default_agent.')),
        },
        { description: 'Default agent.', default: {} },
      ),
      server: Type.Object(
        {
          port: port('Listen port, instead of listen_addr.'),
          host: Type.Optional(name('Listen host, instead of listen_addr. Default: 127.0.0.1.')),
        },
        { description: 'Listener.', default: {} },
      ),
    },
    {
      description: 'Triggers, agents, fleets and flows. Each folder may contain all kinds of files.',
      default: {},
    },
  ),
  // read-platforms.ts validates the content.
  platforms: Type.Unsafe<Platforms>({
    type: 'object',
    description: 'Settings for all triggers of a platform, by platform name, such as repohost.',
    default: {},
  }),
  http_port: port('Listen port, instead of listen_addr. Default: 8080 in files with spec or platforms.'),
  deliveries: Type.Object(
    {
      retention_days: Type.Number({
        description: 'Retention of delivery records; duplicates are detected during this time.',
        default: 7,
        exclusiveMinimum: 0,
        maximum: 3650,
      }),
      remember_days: Type.Number({
        description: 'Retention of inactive conversations.',
        default: 30,
        exclusiveMinimum: 0,
        maximum: 3650,
      }),
      max_waiting: count(
        'Maximum waiting events; further events are refused. A single trigger can have at most half.',
        100_000,
      ),
      max_parked: count(
        'Maximum parked runs, which wait for a time or a person; a single agent or trigger can have at most half.',
        300_000,
      ),
      concurrency: count(
        'Maximum concurrent conversations; a single agent or trigger can use at most half.',
        256,
      ),
    },
    { description: 'Accepted events of triggers.', default: {} },
  ),
};

/** Public registry of MCP servers. */
export const DEFAULT_REGISTRY = 'https://registry.modelcontextprotocol.io';

export const gatewaySchema = Type.Object(
  {
    listen_addr: Type.String({
      description: 'Listen address, host:port; port 0 selects a free port. IPv6 in brackets: [::1]:8080.',
      pattern: listenAddrPattern,
      patternErrorMessage: 'host:port, such as 127.0.0.1:8080 or [::1]:8080',
      shownAs: 'name',
    }),
    catalog_path: Type.String({
      description: "Server catalog (YAML, or a desktop client's JSON), relative to this file.",
      minLength: 1,
      pattern: '^[^\\0]*$',
      patternErrorMessage: 'a path',
      shownAs: 'name',
    }),
    api_key: Type.String({
      description: `API key for all requests except GET /health; empty = no authentication. Use a reference: \${GATEWAY_API_KEY}.`,
      default: '',
      // Only these characters can be sent in a header.
      pattern: '^([!-~]([ -~]*[!-~])?)?$',
      patternErrorMessage: 'printable ASCII characters without spaces or line breaks at either end',
      writeOnly: true,
    }),
    auth: Type.Object(
      {
        jwt: Type.Optional(
          jwtSchema(
            'JSON Web Tokens accepted in Authorization: Bearer, in addition to the api_key. Requires an api_key.',
          ),
        ),
      },
      { description: 'Authentication in addition to the api_key.', default: {} },
    ),
    log_level: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      description: 'Minimum log level.',
      default: 'info',
    }),
    state_dir: Type.String({
      description:
        'Folder for persistent state: accepted events, conversations, records of child processes, cached lists. Relative to this file; one gateway per folder.',
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
        description:
          'Accepted values of the Host header, in addition to the listen address and loopback names.',
        default: [],
      },
    ),
    allowed_origins: Type.Array(
      Type.String({
        pattern: '^[A-Za-z][A-Za-z0-9+.-]*://[^\\s/?#@*]+$',
        patternErrorMessage: 'an origin such as https://app.example.com, without path or wildcard',
      }),
      {
        description: 'Web origins allowed to call the gateway (CORS), in addition to its own.',
        default: [],
      },
    ),
    limits: Type.Object(
      {
        body_bytes: bytes('Maximum size of a request body.', 16_777_216),
        message_bytes: bytes('Maximum size of a message from or to a server.', 16_777_216),
        in_flight: count(
          'Maximum concurrent requests of the gateway; a single server can use at most half, and a single client at most a third at one server.',
          1024,
        ),
        model_calls: count(
          'Maximum concurrent model calls of agents; a single agent, trigger or provider can use at most half.',
          256,
        ),
        flow_nodes: count(
          'Maximum concurrent flow nodes of the types Agent, Fleet, Tool and HTTP; a single flow or trigger can use at most half.',
          512,
        ),
        sessions: count(
          'Maximum client sessions in memory; a single principal or client address can use at most half.',
          10_000,
        ),
        session_idle_seconds: seconds(
          'Idle time before a client session leaves the memory; its next request restores it.',
          1800,
        ),
      },
      { description: 'Limits of the whole gateway.', default: {} },
    ),
    expose: Type.Enum(['all', 'search'], {
      description:
        'Tools offered to clients at /mcp: all, or three tools for searching, describing and calling them.',
      default: 'all',
    }),
    profiles: profilesSchema,
    list_timeout_seconds: secondsOrZero(
      "Maximum time a client's list request waits for lists missing in the cache; 0 = no wait.",
      25,
    ),
    learn: Type.Optional(
      Type.Enum(['at_start', 'on_demand'], {
        description:
          'Time at which the gateway starts a server to learn its lists, if the cache has none: at_start (at startup, eight servers at a time) or on_demand (when a client requests a list). Default: at_start for gateway-stdio, on_demand for gateway-http.',
      }),
    ),
    shutdown_seconds: secondsOrZero(
      'Maximum duration of a shutdown, of which the last 2.5 s are reserved for cleanup after calls. When a single server is stopped, its calls can use the full time; its processes end within another 2.5 s.',
      10,
    ),
    inspector: Type.Object(
      {
        enabled: Type.Optional(
          Type.Boolean({
            description:
              'Serve the inspector at /inspector. Default: true with an api_key or a loopback listener.',
          }),
        ),
        commands: Type.Boolean({
          description:
            'Allow the inspector to start and stop servers, pause triggers, cancel runs, decide approvals, call tools and reload the catalog.',
          default: false,
        }),
        stately: Type.Boolean({
          description: 'Serve the event stream for @statelyai/inspect viewers at /inspector/stately.',
          default: false,
        }),
        insecure: Type.Boolean({
          description:
            'Allow `enabled: true` beyond loopback without an api_key: every client of the listener can watch.',
          default: false,
        }),
      },
      { description: 'Web page that shows the activity of the gateway.', default: {} },
    ),
    history: Type.Object(
      {
        enabled: Type.Boolean({
          description: 'Record the recent calls of clients, in memory and in state_dir.',
          default: true,
        }),
        max_mb: Type.Integer({
          description: 'Maximum size of the recorded files in MB; the oldest are deleted first.',
          default: 128,
          minimum: 1,
          maximum: 100_000,
        }),
      },
      { description: 'Recent calls of clients, without arguments and results.', default: {} },
    ),
    audit: Type.Optional(auditSchema),
    registry_url: Type.String({
      description: 'Base URL of the registry for search and install, without /v0.1.',
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
 * The loaded gateway file, including defaults. `catalog_path`, `state_dir`, `audit.path` and the folders in
 * `spec` are absolute. `catalog_path` is '' if no catalog is set, and `api_key` is '' if authentication is
 * off. `allowed_hosts` and `allowed_origins` are in lower case. `listen_addr` is set for every notation of
 * the listen address.
 */
export type GatewayConfig = Type.Static<typeof gatewaySchema>;
