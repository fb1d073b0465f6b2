// Command lines for a gateway that was just started, shown in its banner. They contain --url only if the
// command would not find the gateway without it.

import { readTarget } from './api/target-options.ts';
import { programName } from './program-name.ts';

/**
 * Returns a function that adds program name and address to a command such as `tools --server files`. `url` is
 * the address of the gateway.
 */
export async function gatewayCommandLine(
  url: string,
  env: NodeJS.ProcessEnv,
): Promise<(command: string) => string> {
  // `npm start` would print additional lines.
  const program = programName().replace(/^npm start --$/, 'node dist/main.js');
  const target = await readTarget({}, env).catch(() => undefined);
  const flags = target?.url.origin === url ? '' : ` --url ${url}`;
  return (command) => `${program} ${command}${flags}`;
}
