// The command line of gateway-http.

import { existsSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseListenAddr } from '../../config/gateway-file/listen-addr.ts';
import { DEFAULT_LISTEN, type LoadTarget } from '../../config/load-config.ts';
import { version } from '../version.ts';
import { newProgram, type Parsed, parse } from './command.ts';
import { commandGroups } from './command-list.ts';

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
Each command has its own --help.

Examples:
  actor-gateway --config gateway.yaml
  actor-gateway --config gateway.yaml --check
  actor-gateway --catalog ~/.cursor/mcp.json --listen 127.0.0.1:9000
  actor-gateway top --url http://127.0.0.1:8080

Signals:
  SIGHUP            reads the catalog and the triggers again; what did not change keeps running
  SIGTERM, SIGINT   stops: calls in flight may end within shutdown_seconds; a second one stops at once

Exit codes: 0 stopped as asked, 1 failure while running, 2 bad configuration or usage`;

/** Returns the program with the name and the description of each command, and nothing else of them. */
export function rootProgram(): Command {
  const program = newProgram()
    .description('Serves the MCP servers of a catalog behind one HTTP address.')
    .option('-c, --config <file>', `gateway configuration (YAML) (default: ./${USUAL_CONFIG})`)
    .addOption(
      new Option(
        '--catalog <file>',
        "run this catalog, or a client's file, with defaults for the rest",
      ).conflicts('config'),
    )
    .option(
      '--listen <host:port>',
      `listen here (default: as configured, else ${DEFAULT_LISTEN})`,
      listenAddr,
    )
    .option('--check', 'check configuration and catalog, start nothing')
    .option('--json', 'with --check: print the result as JSON')
    .version(version, '-V, --version', 'print the version')
    .addHelpText('after', after);
  for (const [group, commands] of Object.entries(commandGroups)) {
    program.commandsGroup(group);
    for (const [name, description] of Object.entries(commands))
      program.command(name).description(description);
  }
  return program;
}

/** Reads the arguments of the gateway itself, which begin with an option. After `exit`, the outcome has been printed. */
export function parseOptions(words: readonly string[]): Parsed<CliOptions> {
  const program = rootProgram()
    .action(() => {})
    .hook('preSubcommand', refuseOptionsBefore);
  return parse(program, words, () => {
    const { check, json, ...written } = program.opts<Written & { check?: boolean; json?: boolean }>();
    return {
      target: readTarget(program, written),
      listen: written.listen,
      isCheck: check === true,
      isJson: json === true,
    };
  });
}

/** The options of a command follow it: commander would ignore those before it. */
export function refuseOptionsBefore(parent: Command, command: Command): void {
  const path = parent.parent === null ? command.name() : `${parent.name()} ${command.name()}`;
  parent.error(`error: the options of a command follow it:\n  actor-gateway ${path} [options]`);
}

function readTarget(command: Command, { config, catalog }: Written): LoadTarget {
  if (catalog !== undefined) return { catalog };
  if (config === undefined && !existsSync(USUAL_CONFIG)) return command.error(NOTHING_TO_RUN);
  return { config: config ?? USUAL_CONFIG };
}

const NOTHING_TO_RUN = `error: there is no ${USUAL_CONFIG} in this folder, and no --config <file>
  init              writes one, with a catalog
  servers import    writes a catalog of the servers that the clients on this machine have
  --catalog <file>  runs a catalog, or the file of a client as it is`;

function listenAddr(text: string): string {
  try {
    parseListenAddr(text);
    return text;
  } catch (error) {
    throw new InvalidArgumentError((error as TypeError).message);
  }
}
