// Options of gateway-stdio, which is also the command `actor-gateway stdio`.

import { type Command, Option } from 'commander';
import type { LoadTarget } from '../../config/load-config.ts';
import { version } from '../version.ts';
import { addExamples, newProgram, type ParsedCommandLine, parse } from './command.ts';
import { collectValues, parseVariableName } from './option-values.ts';
import { isStdioProgram, programName } from './program-name.ts';

export type StdioTarget =
  | (LoadTarget & { readonly server: string | undefined; readonly profile: string | undefined })
  /** Headers by name; variables (`${VAR}`) are not replaced yet. */
  | {
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** File that contains the gateway's key, or name of the environment variable. */
      readonly keyFile?: string | undefined;
      readonly keyVariable?: string | undefined;
    };

export interface StdioOptions {
  readonly target: StdioTarget;
  readonly shouldPrintConfig: boolean;
}

interface RawOptions {
  readonly config?: string;
  readonly catalog?: string;
  readonly server?: string;
  readonly profile?: string;
  readonly url?: string;
  readonly header?: readonly string[];
  readonly apiKeyFile?: string;
  readonly apiKeyVariable?: string;
  readonly printConfig?: boolean;
}

/** Returns example command lines. `name` is the command. */
export const stdioExamples = (name = 'actor-gateway stdio'): readonly string[] => [
  `${name} --config gateway.yaml`,
  `${name} --config gateway.yaml --profile work`,
  `${name} --catalog ~/.cursor/mcp.json`,
  `${name} --url http://127.0.0.1:8080/mcp --header 'X-API-Key: \${GATEWAY_API_KEY}'`,
  `${name} --url http://127.0.0.1:8080/mcp --api-key-file key.txt`,
  `${name} --config gateway.yaml --print-config`,
];

const after = `
stdout carries the protocol only; logs go to stderr.

Stops on:
  end of stdin, SIGTERM, SIGINT   calls in flight have 0.7 seconds to complete; a second signal stops immediately

Exit codes: 0 client disconnected, 1 runtime failure, 2 invalid configuration or usage`;

export function declareStdio(command: Command): void {
  command
    .description('Serves the MCP servers of a catalog, or one MCP address, to a client on stdin and stdout.')
    .option('-c, --config <file>', 'gateway configuration (YAML); runs its servers in this process')
    .addOption(
      new Option(
        '--catalog <file>',
        "run the servers of this catalog, or of a client's file, with defaults",
      ).conflicts(['config', 'profile']),
    )
    .addOption(
      new Option(
        '--server <id>',
        'with --config or --catalog: only this server, with its tool names unprefixed',
      ).conflicts(['profile', 'url']),
    )
    .option('--profile <name>', 'only the servers and tools of this profile of the gateway file')
    .addOption(
      new Option(
        '--url <address>',
        'forward all messages to a running gateway, or to another remote MCP server',
      ).conflicts(['config', 'catalog']),
    )
    .addOption(
      new Option(
        '--header <line>',
        `with --url: send a header, 'Name: value'; \${VAR} is replaced from the environment; repeatable`,
      )
        .argParser(collectValues)
        .conflicts(['config', 'catalog']),
    )
    .addOption(
      new Option('--api-key-file <file>', 'with --url: send the key on the first line of a file').conflicts([
        'config',
        'catalog',
        'apiKeyVariable',
      ]),
    )
    .addOption(
      new Option('--api-key-variable <name>', 'with --url: send the key in this environment variable')
        .argParser(parseVariableName)
        .conflicts(['config', 'catalog']),
    )
    .option('--print-config', "print the entry for a desktop client's configuration file")
    .addHelpText('after', after);
}

/** Parses the arguments after the program's name. For `exit`, the output is already printed. */
export function parseStdioOptions(args: readonly string[]): ParsedCommandLine<StdioOptions> {
  const name = isStdioProgram() ? programName() : 'actor-gateway stdio';
  const program = newProgram(name).version(version, '-V, --version', 'print the version');
  declareStdio(program);
  addExamples(program, stdioExamples(name));
  return parse(program, args, (command) => {
    const raw = command.opts<RawOptions>();
    return { target: readTarget(command, raw), shouldPrintConfig: raw.printConfig === true };
  });
}

function readTarget(command: Command, raw: RawOptions): StdioTarget {
  const { config, catalog, server, profile, url, header = [] } = raw;
  const { apiKeyFile: keyFile, apiKeyVariable: keyVariable } = raw;
  if (config !== undefined) return { config, server, profile };
  if (catalog !== undefined) return { catalog, server, profile };
  if (url === undefined)
    return command.error('error: add one of --config <file>, --catalog <file> and --url <address>');
  const address = addProfile(command, url, profile);
  return { url: address, headers: readHeaders(command, header), keyFile, keyVariable };
}

function addProfile(command: Command, address: string, profile: string | undefined): string {
  const profileUrl = profile === undefined ? address : profileAddress(address, profile);
  if (profileUrl !== undefined) return profileUrl;
  return command.error(
    'error: --profile requires a gateway address, such as http://127.0.0.1:8080/mcp; the profile is appended to /mcp',
  );
}

/** Returns the address of the profile; undefined if no gateway can have this address. */
function profileAddress(address: string, profile: string): string | undefined {
  // Not parsed as a URL, because of references to variables.
  const [, base = '', rest = ''] = /^([^?#]*?)\/*([?#].*)?$/s.exec(address) ?? [];
  const name = `@${encodeURIComponent(profile)}`;
  if (base.endsWith('/mcp')) return `${base}/${name}${rest}`;
  return /^https?:\/\/[^/]+$/i.test(base) ? `${base}/mcp/${name}${rest}` : undefined;
}

/** Parses `Name: value` lines. No message repeats a line, because the line can contain a key. */
function readHeaders(command: Command, lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim();
    if (name === '') return command.error("error: --header expects 'Name: value'");
    if (headers[name] !== undefined) return command.error(`error: --header ${name} occurs twice`);
    headers[name] = line.slice(colon + 1).trim();
  }
  return headers;
}
