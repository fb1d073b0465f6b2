// The command line of gateway-http.

import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { parseListenAddr } from '../../config/gateway-file/listen-addr.ts';
import { DEFAULT_LISTEN, type LoadTarget } from '../../config/load-config.ts';
import { type Parsed, parseProgram } from './command.ts';
import { commandHelp } from './command-list.ts';

export interface CliOptions {
  readonly target: LoadTarget;
  /** Where to listen, whatever the gateway file says. */
  readonly listen: string | undefined;
  readonly isCheck: boolean;
  readonly isJson: boolean;
}

interface Written {
  readonly config?: string;
  readonly catalog?: string;
  readonly listen?: string;
}

/** What is taken where no file is named. */
export const USUAL_CONFIG = 'gateway.yaml';

const after = `
${commandHelp()}

Examples:
  actor-gateway --config gateway.yaml
  actor-gateway --config gateway.yaml --check
  actor-gateway --catalog ~/.cursor/mcp.json --listen 127.0.0.1:9000
  actor-gateway top --url http://127.0.0.1:8080

Signals:
  SIGHUP            reads the catalog and the triggers again; what did not change keeps running
  SIGTERM, SIGINT   stops: calls in flight may end within shutdown_seconds; a second one stops at once

Exit codes: 0 stopped as asked, 1 failure while running, 2 bad configuration or usage`;

/** Reads the arguments after the program's name. Help, version and usage errors have been printed when it says exit. */
export function parseOptions(args: readonly string[], version: string): Parsed<CliOptions> {
  return parseProgram(
    {
      name: 'actor-gateway',
      description: 'Serves the MCP servers of a catalog behind one HTTP address.',
      version,
      after,
      declare: (command) =>
        command
          .option('-c, --config <file>', `gateway configuration (YAML) (default: ./${USUAL_CONFIG})`)
          .option('--catalog <file>', "run this catalog, or a client's file, with defaults for the rest")
          .option('--listen <host:port>', `listen here (default: as configured, else ${DEFAULT_LISTEN})`)
          .option('--check', 'check configuration and catalog, start nothing')
          .option('--json', 'with --check: print the result as JSON'),
      read: (command) => {
        const { check, json, ...written } = command.opts<Written & { check?: boolean; json?: boolean }>();
        const listen = readListen(command, written.listen);
        return {
          target: readTarget(command, written),
          listen,
          isCheck: check === true,
          isJson: json === true,
        };
      },
    },
    args,
  );
}

function readTarget(command: Command, { config, catalog }: Written): LoadTarget {
  if (config !== undefined && catalog !== undefined)
    return command.error('error: give either --config <file> or --catalog <file>');
  if (catalog !== undefined) return { catalog };
  if (config === undefined && !existsSync(USUAL_CONFIG)) return command.error(NOTHING_TO_RUN);
  return { config: config ?? USUAL_CONFIG };
}

const NOTHING_TO_RUN = `error: there is no ${USUAL_CONFIG} in this folder, and no --config <file>
  init              writes one, with a catalog
  import            writes a catalog of the servers that the clients on this machine have
  --catalog <file>  runs a catalog, or the file of a client as it is`;

function readListen(command: Command, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    parseListenAddr(text);
    return text;
  } catch (error) {
    return command.error(`error: --listen: ${(error as TypeError).message}`);
  }
}
