// Connects a command to its gateway: a running one, or with -f a local gateway for these files.

import { ConfigError } from '../../../config/reader/problem.ts';
import { ApiClient, ApiProblem } from '../api/client.ts';
import { CommandLineError, readTarget, type TargetOptions } from '../api/target-options.ts';

export interface GatewayOptions extends TargetOptions {
  readonly file?: readonly string[];
}

/** Calls `use` with a client, then stops the local gateway. Throws CommandLineError for invalid files. */
export async function withGateway<T>(
  options: GatewayOptions,
  use: (client: ApiClient) => Promise<T>,
): Promise<T> {
  const { file: files, config, url } = options;
  if (files === undefined) return use(new ApiClient(await readTarget(options, process.env)));
  if (url !== undefined) throw new CommandLineError('use either --url or -f, not both');
  const gateway = await startGateway(files, config);
  try {
    return await use(new ApiClient({ url: gateway.url, key: { value: gateway.key, source: '-f' } }));
  } finally {
    await gateway.stop();
  }
}

/** Imported lazily, because it loads the whole gateway. */
async function startGateway(files: readonly string[], config: string | undefined) {
  const { startLocalGateway } = await import('../../local-gateway.ts');
  const { printProblems } = await import('../views/problem-lines.ts');
  try {
    const gateway = await startLocalGateway({ files, config, environment: process.env });
    printProblems(gateway.warnings);
    return gateway;
  } catch (error) {
    if (!(error instanceof ConfigError))
      throw new ApiProblem(`the gateway cannot start: ${(error as Error).message}`);
    printProblems(error.problems);
    throw new CommandLineError('the files have errors, as printed above');
  }
}
