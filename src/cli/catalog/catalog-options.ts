// The options that all commands which change a catalog have in common, and what they do with errors.

import type { Command } from 'commander';
import { ConfigError } from '../../../config/reader/problem.ts';
import { declareGateway, type TargetOptions } from '../api/target-options.ts';
import { complain } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';
import type { ReloadOptions } from './running-gateway.ts';

export interface CatalogOptions extends ReloadOptions {
  readonly catalog?: string | undefined;
  readonly isJson: boolean;
}

const TIMEOUT_SECONDS = 120;

export const catalogHelp = `
The catalog is that of the gateway file (--config, else ./gateway.yaml), else --catalog, else ./catalog.yaml. What is not
touched in it stays as it is, comments and all. A gateway that runs at the file's address, or at --url, reads it again. A key for
that is taken from --api-key-file, else from GATEWAY_API_KEY in the environment or in .env beside the gateway file.`;

export const exitHelp = `
Exit codes: 0 done, 1 it failed, 2 wrong usage or bad files`;

export function declareCatalog(command: Command): void {
  declareGateway(command, TIMEOUT_SECONDS)
    .option('--catalog <file>', 'change this catalog, whatever gateway has it')
    .option('--no-reload', 'leave a running gateway alone')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', exitHelp);
}

export function readCatalogOptions(command: Command): CatalogOptions {
  const { reload, json, ...target } = command.opts<
    TargetOptions & { catalog?: string; reload: boolean; json?: boolean }
  >();
  return { ...target, isReloading: reload, isJson: json === true };
}

/** Tells of bad files as compilers do. */
export async function reportingProblems(run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printProblems(error.problems);
    complain('nothing was written');
    return 2;
  }
}
