// The command line of gateway-stdio.

import type { Command } from 'commander';
import { type Parsed, parseProgram } from './command.ts';

export type StdioTarget =
  | { readonly config: string; readonly server: string | undefined }
  /** Headers by name, as written: `${VAR}` is not replaced yet. */
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> };

export interface StdioOptions {
  readonly target: StdioTarget;
  readonly isPrintConfig: boolean;
}

interface Written {
  readonly config?: string;
  readonly server?: string;
  readonly url?: string;
  readonly header?: readonly string[];
  readonly printConfig?: boolean;
}

const after = `
Examples:
  gateway-stdio --config gateway.yaml
  gateway-stdio --url http://127.0.0.1:8080/mcp --header 'X-API-Key: \${GATEWAY_API_KEY}'
  gateway-stdio --config gateway.yaml --print-config

stdout carries the protocol only; logs go to stderr.

Ends:
  end of stdin, SIGTERM, SIGINT   calls in flight may end within a second; a second signal stops at once

Exit codes: 0 the client has left, 1 failure while running, 2 bad configuration or usage`;

/** Reads the arguments after the program's name. Help, version and usage errors have been printed when it says exit. */
export function parseStdioOptions(args: readonly string[], version: string): Parsed<StdioOptions> {
  return parseProgram(
    {
      name: 'gateway-stdio',
      description:
        'Serves the MCP servers of a catalog, or one MCP address, to a client on stdin and stdout.',
      version,
      after,
      declare: (command) =>
        command
          .option('-c, --config <file>', 'gateway configuration (YAML): run its servers in this process')
          .option('--server <id>', 'with --config: only this server, its names without prefix')
          .option('--url <address>', 'pass everything on to a running gateway, or another remote MCP server')
          .option(
            '--header <line>',
            `with --url: send a header, 'Name: value'; \${VAR} is taken from the environment; repeatable`,
            (line: string, before: readonly string[] = []) => [...before, line],
          )
          .option('--print-config', "print the entry for a desktop client's configuration file"),
      read: (command) => {
        const written = command.opts<Written>();
        return { target: readTarget(command, written), isPrintConfig: written.printConfig === true };
      },
    },
    args,
  );
}

function readTarget(command: Command, { config, server, url, header = [] }: Written): StdioTarget {
  if ((config === undefined) === (url === undefined))
    return command.error('error: give either --config <file> or --url <address>');
  if (config !== undefined) {
    if (header.length > 0) return command.error('error: --header goes with --url only');
    return { config, server };
  }
  if (server !== undefined)
    return command.error('error: --server goes with --config only; add it to the address: …/mcp/ID');
  return { url: url ?? '', headers: readHeaders(command, header) };
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
