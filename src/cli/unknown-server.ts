// For an id that is not in the catalog: the ids that are, and the one that was probably meant.

import { suggest } from '../../config/suggest.ts';
import type { ServerList } from './api-answers.ts';
import { type ApiClient, ApiProblem } from './api-client.ts';

const SHOWN = 20;

/** A better explanation where `problem` is about an unknown server; else `problem` itself. */
export async function explainUnknownServer(
  problem: ApiProblem,
  asked: { readonly client: ApiClient; readonly id: string | undefined; readonly timeoutMs: number },
): Promise<ApiProblem> {
  const { client, id, timeoutMs } = asked;
  if (problem.answer?.status !== 404 || id === undefined) return problem;
  let known: readonly string[];
  try {
    const { body } = await client.ask('GET', 'servers', timeoutMs);
    known = (body as ServerList).servers.map((server) => server.id);
  } catch {
    return problem;
  }
  if (known.includes(id)) return problem;
  const close = suggest(id, known);
  const more = known.length > SHOWN ? ` and ${known.length - SHOWN} more` : '';
  const hint =
    close !== undefined
      ? `did you mean ${close}?`
      : `there are ${known.slice(0, SHOWN).join(', ') || 'none at all'}${more}`;
  return new ApiProblem(`there is no server ${JSON.stringify(id)}; ${hint}`, false, problem.answer);
}
