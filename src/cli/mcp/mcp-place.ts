// Where a command finds its servers: the MCP address of a gateway that runs, of all servers, of one or of a profile; or a gateway of its
// own over the catalog of --catalog, which ends with the command.

import { ConfigError } from '../../../config/reader/problem.ts';
import { ApiClient, ApiProblem } from '../api/api-client.ts';
import { readTarget, type TargetOptions, UsageError } from '../api/target-options.ts';

export interface PlaceOptions extends TargetOptions {
  readonly profile?: string;
  /** A catalog to run in this process. */
  readonly catalog?: string;
}

export interface Place {
  readonly api: ApiClient;
  /** The server asked for; undefined for all. */
  readonly server: string | undefined;
  readonly profile: string | undefined;
  readonly url: URL;
}

/** Calls `use` with the place of `server`, or of all servers, and ends what was started for it. Throws UsageError. */
export async function withPlace<T>(
  options: PlaceOptions,
  server: string | undefined,
  use: (place: Place) => Promise<T>,
): Promise<T> {
  const { catalog, profile } = options;
  if (profile !== undefined && !/^[\w.-]+$/.test(profile))
    throw new UsageError('--profile expects the name of a profile, as the gateway file has it');
  if (catalog === undefined) {
    const target = await readTarget(options, process.env);
    return use(placeOf(new ApiClient(target), target.url, server, profile));
  }
  const gateway = await started(catalog);
  try {
    const { url: own, key } = gateway;
    const api = new ApiClient({ url: own, key: { value: key, source: '--catalog' } });
    return await use(placeOf(api, own, server, profile));
  } finally {
    await gateway.stop();
  }
}

function placeOf(api: ApiClient, base: URL, server: string | undefined, profile: string | undefined): Place {
  const last = profile === undefined ? server : `@${profile}`;
  const path = last === undefined ? 'mcp' : `mcp/${profile === undefined ? encodeURIComponent(last) : last}`;
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, '')}/${path}`;
  return { api, server, profile, url };
}

/** Loaded here only: with it comes all of a gateway. */
async function started(catalog: string) {
  const { startCatalogGateway } = await import('../../catalog-gateway.ts');
  const { printProblems } = await import('../views/problem-lines.ts');
  try {
    const gateway = await startCatalogGateway(catalog, process.env);
    printProblems(gateway.warnings);
    return gateway;
  } catch (error) {
    if (!(error instanceof ConfigError))
      throw new ApiProblem(`it cannot start: ${(error as Error).message}`, false);
    printProblems(error.problems);
    throw new UsageError('the catalog has errors, as printed above');
  }
}
