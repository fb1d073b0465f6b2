// The command line of gateway-http.

import { type Parsed, parseProgram } from './command.ts';
import { commandHelp } from './command-list.ts';

export interface CliOptions {
  readonly config: string;
  readonly isCheck: boolean;
  readonly isJson: boolean;
}

const after = `
${commandHelp()}

Examples:
  actor-gateway --config gateway.yaml
  actor-gateway --config gateway.yaml --check
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
          .option('-c, --config <file>', 'gateway configuration (YAML)')
          .option('--check', 'check configuration and catalog, start nothing')
          .option('--json', 'with --check: print the result as JSON'),
      read: (command) => {
        const { config, check, json } = command.opts<{ config?: string; check?: boolean; json?: boolean }>();
        // Not a required option: that it is missing would be told instead of the slip in `--confg`.
        if (config === undefined)
          return command.error("error: required option '-c, --config <file>' not specified");
        return { config, isCheck: check === true, isJson: json === true };
      },
    },
    args,
  );
}
