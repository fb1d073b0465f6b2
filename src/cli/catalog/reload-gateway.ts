// After a change of the catalog: reloads the gateway that uses it, if it is running, and starts the changed
// server, so that the command can show its tools or the error.

import type { ServerDetails } from '../../http/api/server-shapes.ts';
import { ApiClient, ApiProblem } from '../api/client.ts';
import { pathOf } from '../api/server-path.ts';
import { CommandLineError, readTarget, type TargetOptions } from '../api/target-options.ts';
import type { CatalogLocation } from './location.ts';

export type ReloadResult =
  /** No reload was requested (--no-reload). */
  | { readonly gateway: 'left' }
  /** No gateway could be reached; `why` is the reason. */
  | { readonly gateway: 'away'; readonly why: string }
  | {
      readonly gateway: 'refused';
      readonly address: string;
      readonly why: string;
      readonly details: readonly string[];
    }
  | { readonly gateway: 'reloaded'; readonly address: string; readonly startResult?: StartResult };

/** Tools of the started server, or the reason for the failed start. */
export type StartResult =
  | { readonly tools: readonly string[] }
  | { readonly why: string; readonly details: readonly string[] };

export interface ReloadOptions extends TargetOptions {
  /** False with --no-reload. */
  readonly wantsReload: boolean;
}

const DEFAULT_SECONDS = 120;
const MAX_PAGES = 50;

/**
 * Reloads the gateway, and starts the server `serverId` if set. Returns failures of the gateway as a result.
 * Rejects for invalid options.
 */
export async function reloadGateway(
  options: ReloadOptions,
  { config }: CatalogLocation,
  serverId: string | undefined,
): Promise<ReloadResult> {
  if (!options.wantsReload) return { gateway: 'left' };
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
    // The user named the file because of its catalog, so an address is optional there.
    if (!(error instanceof CommandLineError) || options.url !== undefined || options.apiKeyFile !== undefined)
      throw error;
    return { gateway: 'away', why: error.message };
  }
  const { address } = client;
  try {
    await client.request('POST', 'admin/reload', timeoutMs);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const { message, details, response } = error;
    // The client reports a response that comes from another program with these words (api/client.ts).
    if (response === undefined || message.includes('not like a gateway'))
      return { gateway: 'away', why: `no gateway runs at ${address}` };
    return { gateway: 'refused', address, why: message, details };
  }
  if (serverId === undefined) return { gateway: 'reloaded', address };
  return { gateway: 'reloaded', address, startResult: await startServer(client, serverId, timeoutMs) };
}

async function startServer(client: ApiClient, id: string, timeoutMs: number): Promise<StartResult> {
  try {
    await client.request('POST', `${pathOf(id)}/start`, timeoutMs);
    return { tools: await listTools(client, id, timeoutMs) };
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const { message, details, response } = error;
    if (response?.status !== 404)
      return { why: message, details: details.length > 0 ? details : await lastStderr(client, id) };
    return { why: `the gateway has no server ${id}; it uses another catalog`, details: [] };
  }
}

async function listTools(client: ApiClient, id: string, timeoutMs: number): Promise<readonly string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const { body } = await client.request('POST', 'rpc', timeoutMs, {
      body: { jsonrpc: '2.0', id: page, method: 'tools/list', params },
      headers: { 'x-mcp-server': id },
    });
    const { result, error } = body as ToolsResponse;
    // A server without tools may not implement the method.
    if (error?.code === -32_601) return [];
    if (error !== undefined) throw new ApiProblem(`could not list its tools: ${error.message ?? ''}`);
    names.push(...(result?.tools ?? []).map(({ name }) => String(name)));
    cursor = result?.nextCursor;
    // Some servers send an empty cursor, or null, on the last page.
    if (typeof cursor !== 'string' || cursor === '') break;
  }
  return names;
}

interface ToolsResponse {
  readonly result?: { readonly tools?: readonly { readonly name: unknown }[]; readonly nextCursor?: string };
  readonly error?: { readonly code?: number; readonly message?: string };
}

async function lastStderr(client: ApiClient, id: string): Promise<readonly string[]> {
  try {
    const { stderr } = (await client.request('GET', pathOf(id), 5_000)).body as ServerDetails;
    return stderr.slice(-5).map((line) => `stderr: ${line}`);
  } catch {
    return [];
  }
}
