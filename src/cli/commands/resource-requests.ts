// Requests for triggers, agents, fleets and flows, by name; and the names that exist, for an unknown one.

import type { TargetKind } from '../../../config/resources/triggers/target.ts';
import type { TriggerList } from '../../http/api/trigger-shapes.ts';
import type { ApiClient, ApiProblem, ApiResponse } from '../api/api-client.ts';
import { explainUnknown } from '../api/unknown-name.ts';
import { answered, unknownName } from './from-files.ts';
import type { Situation } from './operation.ts';

export const triggerPath = (...segments: readonly string[]): string =>
  ['triggers', ...segments.map(encodeURIComponent)].join('/');

/** `flows/deploy`. */
export const targetPath = (kind: TargetKind, ...segments: readonly string[]): string =>
  [`${kind}s`, ...segments.map(encodeURIComponent)].join('/');

export function explainUnknownTrigger(problem: ApiProblem, situation: Situation): Promise<ApiProblem> {
  return explainUnknown(problem, situation, 'trigger', async ({ client, timeoutMs }) => {
    const { body } = await client.ask('GET', 'triggers', timeoutMs);
    return (body as TriggerList).triggers.map(({ name }) => name);
  });
}

async function known(client: ApiClient, kind: TargetKind, timeoutMs: number) {
  const answer = await client.ask('GET', targetPath(kind), timeoutMs);
  const rows = (answer.body as Readonly<Record<string, readonly { readonly name: string }[]>>)[`${kind}s`];
  return { answer, rows: rows ?? [] };
}

export function explainUnknownTarget(
  kind: TargetKind,
  problem: ApiProblem,
  situation: Situation,
): Promise<ApiProblem> {
  return explainUnknown(problem, situation, kind, async ({ client, timeoutMs }) =>
    (await known(client, kind, timeoutMs)).rows.map(({ name }) => name),
  );
}

/** Returns the list, or one entry of it: the API has no path for a single agent or fleet. */
export async function askOneOf(
  client: ApiClient,
  kind: TargetKind,
  name: string | undefined,
  timeoutMs: number,
): Promise<ApiResponse> {
  const { answer, rows } = await known(client, kind, timeoutMs);
  if (name === undefined) return answer;
  const row = rows.find((each) => each.name === name);
  if (row !== undefined) return answered(row);
  throw unknownName(kind, name, rows);
}
