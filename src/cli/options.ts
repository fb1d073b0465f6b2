// Options of the gateway itself (`actor-gateway --config …`, also installed as gateway-http).

import { existsSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseListenAddr } from '../../config/gateway-file/listen-addr.ts';
import { DEFAULT_LISTEN, type LoadTarget } from '../../config/load-config.ts';
import { version } from '../version.ts';
import { addExamples, newProgram, type ParsedCommandLine, parse } from './command.ts';
import { commandGroups } from './command-list.ts';

export interface CliOptions {
  readonly target: LoadTarget;
  /** Listen address that overrides the gateway file. */
  readonly listen: string | undefined;
  readonly isCheckOnly: boolean;
  readonly isJson: boolean;
}

interface RawOptions {
  readonly config?: string;
  readonly catalog?: string;
  readonly listen?: string;
}

/** Gateway file used without `--config`. */
export const DEFAULT_CONFIG = 'gateway.yaml';

const examples = [
  'actor-gateway --config gateway.yaml',
  'actor-gateway --config gateway.yaml --check',
  'actor-gateway --catalog ~/.cursor/mcp.json --listen 127.0.0.1:9000',
  'actor-gateway top --url http://127.0.0.1:8080',
];

const after = `
Each command has its own --help.

Signals:
  SIGHUP            reloads the catalog and the triggers; unchanged parts keep running. Stops if the gateway was
                    started from a terminal that is closed now
  SIGTERM, SIGINT   stops: calls in flight have shutdown_seconds to complete; a second signal stops immediately

Exit codes: 0 stopped by a signal, 1 runtime failure, 2 invalid configuration or usage`;

/**
 * Returns the program with the names and descriptions of all commands. Their options are declared later
 * (run-command.ts).
 */
export function rootProgram(): Command {
  const program = newProgram()
    .description('Serves the MCP servers of a catalog behind one HTTP address.')
    .option('-c, --config <file>', `gateway configuration (YAML) (default: ./${DEFAULT_CONFIG})`)
    .addOption(
      new Option('--catalog <file>', "run this catalog, or a client's file, with default settings").conflicts(
        'config',
      ),
    )
    .option(
      '--listen <host:port>',
      `listen address (default: listen_addr of the gateway file, else ${DEFAULT_LISTEN})`,
      listenAddr,
    )
    .option('--check', 'check configuration and catalog, then exit')
    .option('--json', 'with --check: print the result as JSON')
    .version(version, '-V, --version', 'print the version')
    .addHelpText('after', after);
  for (const [group, commands] of Object.entries(commandGroups)) {
    program.commandsGroup(group);
    for (const [name, description] of Object.entries(commands))
      program.command(name).description(description);
  }
  addExamples(program, examples);
  return program;
}

/** Parses the options. For `exit`, the output is already printed. */
export function parseOptions(args: readonly string[]): ParsedCommandLine<CliOptions> {
  const program = rootProgram()
    .action(() => {})
    .hook('preSubcommand', refuseOptionsBefore);
  return parse(program, args, () => {
    const { check, json, ...raw } = program.opts<RawOptions & { check?: boolean; json?: boolean }>();
    return {
      target: readTarget(program, raw),
      listen: raw.listen,
      isCheckOnly: check === true,
      isJson: json === true,
    };
  });
}

/** Rejects options placed ahead of the command, which commander would ignore. */
export function refuseOptionsBefore(parent: Command, command: Command): void {
  const path = parent.parent === null ? command.name() : `${parent.name()} ${command.name()}`;
  parent.error(`error: put the options after the command:\n  actor-gateway ${path} [options]`);
}

function readTarget(command: Command, { config, catalog }: RawOptions): LoadTarget {
  if (catalog !== undefined) return { catalog };
  if (config === undefined && !existsSync(DEFAULT_CONFIG)) return command.error(NOTHING_TO_RUN);
  return { config: config ?? DEFAULT_CONFIG };
}

const NOTHING_TO_RUN = `error: no ${DEFAULT_CONFIG} in this folder and no --config <file>
  init              writes one, with a catalog
  servers import    writes a catalog with the servers of the clients on this machine
  --catalog <file>  runs a catalog, or the unchanged file of a client`;

function listenAddr(text: string): string {
  try {
    parseListenAddr(text);
    return text;
  } catch (error) {
    throw new InvalidArgumentError((error as TypeError).message);
  }
}
