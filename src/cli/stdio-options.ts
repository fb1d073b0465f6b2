// The command line of gateway-stdio.

import { type Command, Option } from 'commander';
import type { LoadTarget } from '../../config/load-config.ts';
import { version } from '../version.ts';
import { newProgram, type Parsed, parse } from './command.ts';
import { collected, variableName } from './option-values.ts';
import { isStdioProgram, programName } from './program-name.ts';

export type StdioTarget =
  | (LoadTarget & { readonly server: string | undefined; readonly profile: string | undefined })
  /** Headers by name, as written: `${VAR}` is not replaced yet. */
  | {
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** Where the key of the gateway at that address is: in a file, or in a variable of the environment. */
      readonly keyFile?: string | undefined;
      readonly keyVariable?: string | undefined;
    };

export interface StdioOptions {
  readonly target: StdioTarget;
  readonly isPrintConfig: boolean;
}

interface Written {
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

const after = (name: string) => `
Examples:
  ${name} --config gateway.yaml
  ${name} --config gateway.yaml --profile work
  ${name} --catalog ~/.cursor/mcp.json
  ${name} --url http://127.0.0.1:8080/mcp --header 'X-API-Key: \${GATEWAY_API_KEY}'
  ${name} --url http://127.0.0.1:8080/mcp --api-key-file key.txt
  ${name} --config gateway.yaml --print-config

stdout carries the protocol only; logs go to stderr.

Ends:
  end of stdin, SIGTERM, SIGINT   calls in flight may end within a second; a second signal stops at once

Exit codes: 0 the client has left, 1 failure while running, 2 bad configuration or usage`;

/** Declares the options of gateway-stdio, which `name` starts. */
export function declareStdio(command: Command, name = 'actor-gateway stdio'): void {
  command
    .description('Serves the MCP servers of a catalog, or one MCP address, to a client on stdin and stdout.')
    .option('-c, --config <file>', 'gateway configuration (YAML): run its servers in this process')
    .addOption(
      new Option(
        '--catalog <file>',
        "run the servers of this catalog, or of a client's file, with defaults",
      ).conflicts(['config', 'profile']),
    )
    .addOption(
      new Option(
        '--server <id>',
        'with --config or --catalog: only this server, its names without prefix',
      ).conflicts(['profile', 'url']),
    )
    .option('--profile <name>', 'only the servers and tools of this profile of the gateway file')
    .addOption(
      new Option(
        '--url <address>',
        'pass everything on to a running gateway, or another remote MCP server',
      ).conflicts(['config', 'catalog']),
    )
    .addOption(
      new Option(
        '--header <line>',
        `with --url: send a header, 'Name: value'; \${VAR} is taken from the environment; repeatable`,
      )
        .argParser(collected)
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
      new Option('--api-key-variable <name>', 'with --url: send the key in this variable of the environment')
        .argParser(variableName)
        .conflicts(['config', 'catalog']),
    )
    .option('--print-config', "print the entry for a desktop client's configuration file")
    .addHelpText('after', after(name));
}

/** Reads the arguments after the program's name. After `exit`, the outcome has been printed. */
export function parseStdioOptions(words: readonly string[]): Parsed<StdioOptions> {
  const name = isStdioProgram() ? programName() : 'actor-gateway stdio';
  const program = newProgram(name).version(version, '-V, --version', 'print the version');
  declareStdio(program, name);
  return parse(program, words, (command) => {
    const written = command.opts<Written>();
    return { target: readTarget(command, written), isPrintConfig: written.printConfig === true };
  });
}

function readTarget(command: Command, written: Written): StdioTarget {
  const { config, catalog, server, profile, url, header = [] } = written;
  const { apiKeyFile: keyFile, apiKeyVariable: keyVariable } = written;
  if (config !== undefined) return { config, server, profile };
  if (catalog !== undefined) return { catalog, server, profile };
  if (url === undefined)
    return command.error('error: give one of --config <file>, --catalog <file> and --url <address>');
  const address = inProfile(command, url, profile);
  return { url: address, headers: readHeaders(command, header), keyFile, keyVariable };
}

function inProfile(command: Command, address: string, profile: string | undefined): string {
  const found = profile === undefined ? address : profileAddress(address, profile);
  if (found !== undefined) return found;
  return command.error(
    'error: --profile goes with the address of a gateway, as http://127.0.0.1:8080/mcp; the profile is put behind /mcp',
  );
}

/** Where a gateway at this address has the profile; undefined for an address of something within it, or of no gateway. */
function profileAddress(address: string, profile: string): string | undefined {
  // As it is written: a part of it may be a reference to a variable.
  const [, base = '', rest = ''] = /^([^?#]*?)\/*([?#].*)?$/s.exec(address) ?? [];
  const name = `@${encodeURIComponent(profile)}`;
  if (base.endsWith('/mcp')) return `${base}/${name}${rest}`;
  return /^https?:\/\/[^/]+$/i.test(base) ? `${base}/mcp/${name}${rest}` : undefined;
}

/** No message repeats a header: it may be nothing but a key. */
function readHeaders(command: Command, lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim();
    if (name === '') return command.error("error: --header expects 'Name: value'");
    if (headers[name] !== undefined) return command.error(`error: --header ${name} is given twice`);
    headers[name] = line.slice(colon + 1).trim();
  }
  return headers;
}
