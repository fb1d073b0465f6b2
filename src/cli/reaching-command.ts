// How a command is typed that reaches a gateway which has just been started: by the name by which the program can be called here, and with
// an address only where the command would look elsewhere by itself.

import { readTarget } from './api/target-options.ts';
import { programName } from './program-name.ts';

/** Returns a function that completes a command, such as `tools --server files`, to a whole line. `url` is the gateway's. */
export async function reachingCommand(
  url: string,
  env: NodeJS.ProcessEnv,
): Promise<(words: string) => string> {
  // For a command npm would say more than the command itself.
  const program = programName().replace(/^npm start --$/, 'node dist/main.js');
  const found = await readTarget({}, env).catch(() => undefined);
  const flags = found?.url.origin === url ? '' : ` --url ${url}`;
  return (words) => `${program} ${words}${flags}`;
}
