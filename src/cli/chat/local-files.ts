// The option -f of commands that talk with an agent, a fleet or a flow: files in place of a running gateway.

import type { Command } from 'commander';

export const FILES_HELP = `
With -f a gateway of its own runs what is in those files for as long as the command does, in this process. It takes
providers, prices and the catalog from the gateway file of --config, where one is given, and forgets all in the end.
`;

export function declareFiles(command: Command): void {
  command.option(
    '-f, --file <path...>',
    'files or folders with agents, fleets and flows, instead of a running gateway; may be given several times',
  );
}
