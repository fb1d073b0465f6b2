// The gateway file: each field with its meaning, default and limits. This schema is read by the loader, gives
// the type of the loaded configuration, and becomes the JSON Schema for editors; nothing is said twice.
// The type is the filled form: a field with a default is optional for the operator and always there in code.

import * as Type from 'typebox';
import { seconds, secondsOrZero } from './duration-schema.ts';
import { listenAddrPattern } from './listen-addr.ts';

const count = (description: string, byDefault: number) =>
  Type.Integer({ description, default: byDefault, minimum: 1, maximum: 1_000_000 });

/** Node's longest string is 512 MiB; half of it leaves room for the copy that a message becomes. */
const bytes = (description: string, byDefault: number) =>
  Type.Integer({ description, default: byDefault, minimum: 1024, maximum: 268_435_456 });

export const gatewaySchema = Type.Object(
  {
    listen_addr: Type.String({
      description: 'Address to listen on, host:port; port 0 takes a free one. IPv6 in brackets: [::1]:8080.',
      pattern: listenAddrPattern,
      patternErrorMessage: 'host:port, such as 127.0.0.1:8080 or [::1]:8080',
    }),
    catalog_path: Type.String({
      description: "The server catalog (YAML, or a desktop client's JSON), relative to this file.",
      minLength: 1,
      pattern: '^[^\\0]*$',
      patternErrorMessage: 'a path',
    }),
    api_key: Type.String({
      description: `When not empty, every request but GET /health needs this key. Write it as a reference: \${GATEWAY_API_KEY}.`,
      default: '',
      // Anything else cannot be sent in a header as it is.
      pattern: '^([!-~]([ -~]*[!-~])?)?$',
      patternErrorMessage: 'printable ASCII characters without spaces or line breaks at either end',
      writeOnly: true,
    }),
    log_level: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      description: 'Least level that is logged.',
      default: 'info',
    }),
    state_dir: Type.String({
      description: 'Folder for child records and caches, relative to this file; one gateway per folder.',
      default: './.gateway',
      minLength: 1,
      pattern: '^[^\\0]*$',
      patternErrorMessage: 'a path',
    }),
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
        in_flight: count('Requests in flight over the whole gateway.', 1024),
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
    list_timeout_seconds: secondsOrZero(
      "A client's list request waits at most this long for lists not yet known; 0 = not at all.",
      4,
    ),
    shutdown_seconds: secondsOrZero(
      'The end takes no longer, of the gateway or of a server; calls in flight may take it less 2.5 s.',
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
          description: 'Let the page start and stop servers and reload the catalog.',
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
  },
  { description: 'Configuration of the gateway.' },
);

/**
 * The loaded gateway file, everything filled: `catalog_path` and `state_dir` are absolute, `allowed_hosts` and
 * `allowed_origins` in lower case, `api_key` is '' when authentication is off.
 */
export type GatewayConfig = Type.Static<typeof gatewaySchema>;
