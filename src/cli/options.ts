// The command line of gateway-http.

import { Command, CommanderError } from 'commander';

export interface CliOptions {
  readonly config: string;
  readonly isCheck: boolean;
  readonly isJson: boolean;
}

export type Parsed =
  | { readonly do: 'run'; readonly options: CliOptions }
  | { readonly do: 'exit'; readonly code: number };

const after = `
Examples:
  node dist/main.js --config gateway.yaml
  node dist/main.js --config gateway.yaml --check

Signals:
  SIGHUP            reads the catalog again; what did not change keeps running
  SIGTERM, SIGINT   stops: calls in flight may end within shutdown_seconds; a second one stops at once

Exit codes: 0 stopped as asked, 1 failure while running, 2 bad configuration or usage`;

/** Reads the arguments after the program's name. Help, version and usage errors have been printed when it says exit. */
export function parseOptions(args: readonly string[], version: string): Parsed {
  const command = new Command('gateway-http')
    .description('Serves the MCP servers of a catalog behind one HTTP address.')
    .option('-c, --config <file>', 'gateway configuration (YAML)')
    .option('--check', 'check configuration and catalog, start nothing')
    .option('--json', 'with --check: print the result as JSON')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', after)
    .showHelpAfterError('(--help explains the options)')
    .allowExcessArguments(false)
    .exitOverride();
  try {
    command.parse([...args], { from: 'user' });
    // Not a required option: that it is missing would be told instead of the slip in `--confg`.
    if (command.getOptionValue('config') === undefined)
      command.error("error: required option '-c, --config <file>' not specified");
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { do: 'exit', code: error.exitCode === 0 ? 0 : 2 };
  }
  const { config, check, json } = command.opts<{ config: string; check?: boolean; json?: boolean }>();
  return { do: 'run', options: { config, isCheck: check === true, isJson: json === true } };
}
