// The gateway that a command talks with: one that runs, or with -f one of its own.

import { ConfigError } from '../../../config/reader/problem.ts';
import { ApiClient, ApiProblem } from '../api/api-client.ts';
import { readTarget, type TargetOptions, UsageError } from '../api/target-options.ts';

export interface GatewayOptions extends TargetOptions {
  readonly file?: readonly string[];
}

/** Calls `use`, and afterwards ends what was started for it. Throws UsageError for files that are wrong. */
export async function withGateway<T>(
  options: GatewayOptions,
  use: (client: ApiClient) => Promise<T>,
): Promise<T> {
  const { file: files, config, url } = options;
  if (files === undefined) return use(new ApiClient(await readTarget(options, process.env)));
  if (url !== undefined) throw new UsageError('give either --url or -f');
  const gateway = await started(files, config);
  try {
    return await use(new ApiClient({ url: gateway.url, key: { value: gateway.key, source: '-f' } }));
  } finally {
    await gateway.stop();
  }
}

/** Loaded here only: with it comes all of a gateway. */
async function started(files: readonly string[], config: string | undefined) {
  const { startLocalGateway } = await import('../../local-gateway.ts');
  const { printProblems } = await import('../views/problem-lines.ts');
  try {
    const gateway = await startLocalGateway({ files, config, environment: process.env });
    printProblems(gateway.warnings);
    return gateway;
  } catch (error) {
    if (!(error instanceof ConfigError))
      throw new ApiProblem(`it cannot start: ${(error as Error).message}`, false);
    printProblems(error.problems);
    throw new UsageError('the files have errors, as printed above');
  }
}
