// Selects the MCP address for a command: /mcp on a running gateway, /mcp/SERVER or /mcp/@PROFILE. With
// --catalog, a local gateway is started, which stops with the command.

import { ConfigError } from '../../../config/reader/problem.ts';
import { ApiClient, ApiProblem } from '../api/client.ts';
import { CommandLineError, readTarget, type TargetOptions } from '../api/target-options.ts';

export interface EndpointOptions extends TargetOptions {
  readonly profile?: string;
  /** Catalog whose servers this process starts. */
  readonly catalog?: string;
}

export interface McpEndpoint {
  readonly api: ApiClient;
  /** Requested server; undefined for all. */
  readonly server: string | undefined;
  readonly profile: string | undefined;
  readonly url: URL;
}

/** Calls `use` with the endpoint, then stops the local gateway. Throws CommandLineError. */
export async function withEndpoint<T>(
  options: EndpointOptions,
  server: string | undefined,
  use: (endpoint: McpEndpoint) => Promise<T>,
): Promise<T> {
  const { catalog, profile } = options;
  if (profile !== undefined && !/^[\w.-]+$/.test(profile))
    throw new CommandLineError('--profile expects the name of a profile in the gateway file');
  if (catalog === undefined) {
    const target = await readTarget(options, process.env);
    return use(endpointOf(new ApiClient(target), target.url, server, profile));
  }
  const gateway = await startGateway(catalog);
  try {
    const { url: gatewayUrl, key } = gateway;
    const api = new ApiClient({ url: gatewayUrl, key: { value: key, source: '--catalog' } });
    return await use(endpointOf(api, gatewayUrl, server, profile));
  } finally {
    await gateway.stop();
  }
}

function endpointOf(
  api: ApiClient,
  base: URL,
  server: string | undefined,
  profile: string | undefined,
): McpEndpoint {
  const last = profile === undefined ? server : `@${profile}`;
  const path = last === undefined ? 'mcp' : `mcp/${profile === undefined ? encodeURIComponent(last) : last}`;
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, '')}/${path}`;
  return { api, server, profile, url };
}

/** Imported lazily, because it loads the whole gateway. */
async function startGateway(catalog: string) {
  const { startCatalogGateway } = await import('../../catalog-gateway.ts');
  const { printProblems } = await import('../views/problem-lines.ts');
  try {
    const gateway = await startCatalogGateway(catalog, process.env);
    printProblems(gateway.warnings);
    return gateway;
  } catch (error) {
    if (!(error instanceof ConfigError))
      throw new ApiProblem(`the gateway cannot start: ${(error as Error).message}`);
    printProblems(error.problems);
    throw new CommandLineError('the catalog has errors, as printed above');
  }
}
