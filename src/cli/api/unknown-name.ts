// For a name that the gateway does not know: the names that it knows, and the one that was probably meant.

import { suggest } from '../../../config/reader/suggest.ts';
import { type ApiClient, ApiProblem } from './api-client.ts';

const SHOWN = 20;

interface Asked {
  readonly client: ApiClient;
  readonly args: readonly string[];
  readonly timeoutMs: number;
}

/** `did you mean files?`, or what there is. */
export function hintFor(name: string, known: readonly string[]): string {
  const close = suggest(name, known);
  if (close !== undefined) return `did you mean ${close}?`;
  const more = known.length > SHOWN ? ` and ${known.length - SHOWN} more` : '';
  return `there are ${known.slice(0, SHOWN).join(', ') || 'none at all'}${more}`;
}

/** A better explanation where `problem` is about an unknown name, which is the first argument; else `problem` itself. */
export async function explainUnknown(
  problem: ApiProblem,
  asked: Asked,
  noun: string,
  knownNames: (asked: Asked) => Promise<readonly string[]>,
): Promise<ApiProblem> {
  const [name] = asked.args;
  if (problem.answer?.status !== 404 || name === undefined) return problem;
  let known: readonly string[];
  try {
    known = await knownNames(asked);
  } catch {
    return problem;
  }
  if (known.includes(name)) return problem;
  const message = `there is no ${noun} ${JSON.stringify(name)}; ${hintFor(name, known)}`;
  return new ApiProblem(message, false, problem.answer);
}
