// The gateway that has a changed catalog, where one runs: it reads its files again, and starts the server that was meant, so that
// whoever has changed something sees at once what came of it.

import type { ServerDetails } from '../../http/api/server-shapes.ts';
import { ApiClient, ApiProblem } from '../api/api-client.ts';
import { pathOf } from '../api/server-path.ts';
import { readTarget, type TargetOptions, UsageError } from '../api/target-options.ts';
import type { CatalogPlace } from './catalog-place.ts';

export type Aftermath =
  /** It was not to be told. */
  | { readonly gateway: 'left' }
  /** `why` says what is not known, or that nobody is there. */
  | { readonly gateway: 'away'; readonly why: string }
  | {
      readonly gateway: 'refused';
      readonly address: string;
      readonly why: string;
      readonly details: readonly string[];
    }
  | { readonly gateway: 'reloaded'; readonly address: string; readonly offer?: Offer };

/** What a server has, or why it has nothing. */
export type Offer =
  | { readonly tools: readonly string[] }
  | { readonly why: string; readonly details: readonly string[] };

export interface ReloadOptions extends TargetOptions {
  readonly isReloading: boolean;
}

const DEFAULT_SECONDS = 120;
const MAX_PAGES = 50;

/** Reloads, and where `started` names a server starts it and asks for its tools. Never rejects for what a gateway does. */
export async function tellGateway(
  options: ReloadOptions,
  { config }: CatalogPlace,
  started: string | undefined,
): Promise<Aftermath> {
  if (!options.isReloading) return { gateway: 'left' };
  const timeoutMs = (options.timeout ?? DEFAULT_SECONDS) * 1000;
  let client: ApiClient;
  try {
    const { url, apiKeyFile } = options;
    const from = url === undefined && config !== undefined ? { config } : {};
    const target = {
      ...(url === undefined ? from : { url }),
      ...(apiKeyFile === undefined ? {} : { apiKeyFile }),
    };
    client = new ApiClient(await readTarget(target, process.env));
  } catch (error) {
    // The file was named for its catalog: that it says no address is no fault.
    if (!(error instanceof UsageError) || options.url !== undefined || options.apiKeyFile !== undefined)
      throw error;
    return { gateway: 'away', why: error.message };
  }
  const { address } = client;
  try {
    await client.ask('POST', 'admin/reload', timeoutMs);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const { message, details, answer } = error;
    if (answer === undefined || message.includes('not as a gateway does'))
      return { gateway: 'away', why: `no gateway runs at ${address}` };
    return { gateway: 'refused', address, why: message, details };
  }
  if (started === undefined) return { gateway: 'reloaded', address };
  return { gateway: 'reloaded', address, offer: await offerOf(client, started, timeoutMs) };
}

async function offerOf(client: ApiClient, id: string, timeoutMs: number): Promise<Offer> {
  try {
    await client.ask('POST', `${pathOf(id)}/start`, timeoutMs);
    return { tools: await toolsOf(client, id, timeoutMs) };
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const { message, details, answer } = error;
    if (answer?.status !== 404)
      return { why: message, details: details.length > 0 ? details : await stderrOf(client, id) };
    return { why: `it has no server ${id}: it reads another catalog`, details: [] };
  }
}

async function toolsOf(client: ApiClient, id: string, timeoutMs: number): Promise<readonly string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const { body } = await client.ask('POST', 'rpc', timeoutMs, {
      body: { jsonrpc: '2.0', id: page, method: 'tools/list', params },
      headers: { 'x-mcp-server': id },
    });
    const { result, error } = body as ToolsAnswer;
    // A server without tools does not know the method.
    if (error?.code === -32_601) return [];
    if (error !== undefined)
      throw new ApiProblem(`its tools cannot be listed: ${error.message ?? ''}`, false);
    names.push(...(result?.tools ?? []).map(({ name }) => String(name)));
    cursor = result?.nextCursor;
    if (cursor === undefined) break;
  }
  return names;
}

interface ToolsAnswer {
  readonly result?: { readonly tools?: readonly { readonly name: unknown }[]; readonly nextCursor?: string };
  readonly error?: { readonly code?: number; readonly message?: string };
}

async function stderrOf(client: ApiClient, id: string): Promise<readonly string[]> {
  try {
    const { stderr } = (await client.ask('GET', pathOf(id), 5_000)).body as ServerDetails;
    return stderr.slice(-5).map((line) => `stderr: ${line}`);
  } catch {
    return [];
  }
}
