// Hints for unknown names in error messages: the most similar existing name, or a list of the existing names.

import { suggest } from '../../../config/reader/suggest.ts';
import { type ApiClient, ApiProblem } from './client.ts';

const MAX_NAMES = 20;

interface LookupContext {
  readonly client: ApiClient;
  readonly args: readonly string[];
  readonly timeoutMs: number;
}

/** Returns `did you mean files?` or `there are files, web and 3 more`. */
export function hintFor(name: string, candidates: readonly string[]): string {
  const close = suggest(name, candidates);
  if (close !== undefined) return `did you mean ${close}?`;
  const more = candidates.length > MAX_NAMES ? ` and ${candidates.length - MAX_NAMES} more` : '';
  return `there are ${candidates.slice(0, MAX_NAMES).join(', ') || 'none'}${more}`;
}

/**
 * If the first argument is an unknown name, returns a problem with a hint; otherwise `problem` itself. `noun`
 * is the kind of the name in the message, such as `server`.
 */
export async function explainUnknown(
  problem: ApiProblem,
  context: LookupContext,
  noun: string,
  listNames: (context: LookupContext) => Promise<readonly string[]>,
): Promise<ApiProblem> {
  const [name] = context.args;
  if (problem.response?.status !== 404 || name === undefined) return problem;
  let names: readonly string[];
  try {
    names = await listNames(context);
  } catch {
    return problem;
  }
  if (names.includes(name)) return problem;
  const message = `there is no ${noun} ${JSON.stringify(name)}; ${hintFor(name, names)}`;
  return new ApiProblem(message, { response: problem.response });
}
