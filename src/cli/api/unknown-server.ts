// For an id that is not in the catalog: the ids that are, and the one that was probably meant.

import type { ServerList } from '../../http/api/server-shapes.ts';
import type { Situation } from '../commands/operation.ts';
import type { ApiProblem } from './api-client.ts';
import { explainUnknown } from './unknown-name.ts';

/** A better explanation where `problem` is about an unknown server; else `problem` itself. */
export function explainUnknownServer(
  problem: ApiProblem,
  situation: Pick<Situation, 'client' | 'args' | 'timeoutMs'>,
): Promise<ApiProblem> {
  return explainUnknown(problem, situation, 'server', async ({ client, timeoutMs }) => {
    const { body } = await client.ask('GET', 'servers', timeoutMs);
    return (body as ServerList).servers.map(({ id }) => id);
  });
}
