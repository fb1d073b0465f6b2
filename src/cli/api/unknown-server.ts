// Adds a hint to the error message about an unknown server, for commands whose first argument is a server id.

import type { ServerList } from '../../http/api/server-shapes.ts';
import type { CommandContext } from '../commands/operation.ts';
import type { ApiProblem } from './client.ts';
import { explainUnknown } from './unknown-name.ts';

/**
 * Requests the servers from the gateway. If the first argument is an unknown server, returns a problem with a
 * hint; otherwise `problem` itself.
 */
export function explainUnknownServer(
  problem: ApiProblem,
  context: Pick<CommandContext, 'client' | 'args' | 'timeoutMs'>,
): Promise<ApiProblem> {
  return explainUnknown(problem, context, 'server', async ({ client, timeoutMs }) => {
    const { body } = await client.request('GET', 'servers', timeoutMs);
    return (body as ServerList).servers.map(({ id }) => id);
  });
}
