// API paths and requests for triggers, agents, fleets and flows, with hints for unknown names.

import type { TargetKind } from '../../../config/resources/triggers/target.ts';
import type { TriggerList } from '../../http/api/trigger-shapes.ts';
import type { ApiClient, ApiProblem, GatewayResponse } from '../api/client.ts';
import { explainUnknown } from '../api/unknown-name.ts';
import { okResponse, unknownNameProblem } from './from-files.ts';
import type { CommandContext } from './operation.ts';

export const triggerPath = (...segments: readonly string[]): string =>
  ['triggers', ...segments.map(encodeURIComponent)].join('/');

/** Returns a path such as `flows` or `flows/deploy`. */
export const targetPath = (kind: TargetKind, ...segments: readonly string[]): string =>
  [`${kind}s`, ...segments.map(encodeURIComponent)].join('/');

export function explainUnknownTrigger(problem: ApiProblem, context: CommandContext): Promise<ApiProblem> {
  return explainUnknown(problem, context, 'trigger', async ({ client, timeoutMs }) => {
    const { body } = await client.request('GET', 'triggers', timeoutMs);
    return (body as TriggerList).triggers.map(({ name }) => name);
  });
}

async function requestTargets(client: ApiClient, kind: TargetKind, timeoutMs: number) {
  const response = await client.request('GET', targetPath(kind), timeoutMs);
  const rows = (response.body as Readonly<Record<string, readonly { readonly name: string }[]>>)[`${kind}s`];
  return { response, rows: rows ?? [] };
}

export function explainUnknownTarget(
  kind: TargetKind,
  problem: ApiProblem,
  context: CommandContext,
): Promise<ApiProblem> {
  return explainUnknown(problem, context, kind, async ({ client, timeoutMs }) =>
    (await requestTargets(client, kind, timeoutMs)).rows.map(({ name }) => name),
  );
}

/**
 * Returns the response with all agents, fleets or flows; with `name`, a response that contains only this one.
 * It is selected from the list, because the API has no path for a single agent or fleet. Throws ApiProblem if
 * the name is unknown.
 */
export async function requestTarget(
  client: ApiClient,
  kind: TargetKind,
  name: string | undefined,
  timeoutMs: number,
): Promise<GatewayResponse> {
  const { response, rows } = await requestTargets(client, kind, timeoutMs);
  if (name === undefined) return response;
  const row = rows.find((each) => each.name === name);
  if (row !== undefined) return okResponse(row);
  throw unknownNameProblem(kind, name, rows);
}
