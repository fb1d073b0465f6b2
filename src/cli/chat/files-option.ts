// Option -f of commands that run agents, fleets or flows: a local gateway for these files, instead of a
// running gateway.

import type { Command } from 'commander';

export const LOCAL_FILES_HELP = `
With -f the command runs these files on a temporary gateway in its own process. Providers, prices and the
catalog come from the gateway file of --config, if set. Nothing is stored.
`;

export function declareLocalFiles(command: Command): void {
  command.option(
    '-f, --file <path...>',
    'files or folders with agents, fleets and flows, instead of a running gateway; repeatable',
  );
}
