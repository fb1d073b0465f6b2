// Common options of commands that change a catalog, and common handling of configuration errors.

import type { Command } from 'commander';
import { ConfigError } from '../../../config/reader/problem.ts';
import { declareTargetOptions, type TargetOptions } from '../api/target-options.ts';
import { printMessage } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';
import type { ReloadOptions } from './reload-gateway.ts';

export interface CatalogOptions extends ReloadOptions {
  readonly catalog?: string | undefined;
  readonly isJson: boolean;
}

const TIMEOUT_SECONDS = 120;

export const catalogHelp = `
The catalog is catalog_path of the gateway file (--config, else ./gateway.yaml), else --catalog, else
./catalog.yaml. All other entries and comments stay unchanged. Then the gateway at --url, else at the address
in the gateway file, is reloaded if it is running. Its key is read from --api-key-file, else from
GATEWAY_API_KEY in the environment or in .env next to the gateway file.`;

export const exitHelp = `
Exit codes: 0 success, 1 failure, 2 invalid usage or files`;

export function declareCatalog(command: Command): void {
  declareTargetOptions(command, TIMEOUT_SECONDS)
    .option('--catalog <file>', 'change this catalog, instead of that of the gateway file')
    .option('--no-reload', 'do not reload a running gateway')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', exitHelp);
}

export function readCatalogOptions(command: Command): CatalogOptions {
  const { reload, json, ...target } = command.opts<
    TargetOptions & { catalog?: string; reload: boolean; json?: boolean }
  >();
  return { ...target, wantsReload: reload, isJson: json === true };
}

/** Prints configuration errors with file, line and column, and returns exit code 2. */
export async function reportProblems(run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printProblems(error.problems);
    printMessage('nothing was written');
    return 2;
  }
}
