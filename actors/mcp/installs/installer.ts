// Describes the installation for a local server's command (npx, uvx, docker, …): the command lines that
// install and check the program, and the folder that they fill.

import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StdioEntry } from '../../../config/catalog/catalog-schema.ts';
import { type GatewayEnvironment, launchOf } from '../links/stdio/child-env.ts';
import type { Launch } from '../links/stdio/start-failure.ts';
import { launcherOf } from './launcher.ts';
import { type NpxFolder, npxFolder } from './npx-folder.ts';

export interface Installer {
  /** Name of the program, such as `npx`. */
  readonly program: string;
  /** Identifies the installed files: servers with equal keys share one installation. */
  readonly key: string;
  /** Command line that only installs. */
  readonly install: Launch;
  /** Command line for a check that succeeds after the installation. */
  readonly check: Launch | undefined;
  /** Folder that an interrupted installation would leave damaged. */
  readonly folder: NpxFolder | undefined;
}

/** Shell that starts no program (npx-shell.sh). */
const npxShell = fileURLToPath(new URL('./npx-shell.sh', import.meta.url));

/** Returns the installation for a command; undefined if the command is not recognised as a launcher. */
export function installerOf(entry: StdioEntry, environment: GatewayEnvironment): Installer | undefined {
  // Windows has other shells, and the launchers are scripts there.
  if (process.platform === 'win32') return undefined;
  const launcher = launcherOf(basename(entry.command), entry.args);
  if (launcher === undefined) return undefined;
  const launch = launchOf(entry, environment);
  const { program, packages, installArgs, checkArgs, npm } = launcher;
  const env = npm === undefined ? launch.env : { ...launch.env, ...npmVariables };
  const folder = npm && packages.length > 0 ? npxFolder(packages, npm.cache, launch) : undefined;
  return {
    program,
    key: folder?.path ?? JSON.stringify([launch.command, installArgs, launch.env.HOME, launch.cwd]),
    install: { ...launch, args: installArgs, env },
    check: checkArgs && { ...launch, args: checkArgs },
    folder,
  };
}

const npmVariables = {
  npm_config_script_shell: npxShell,
  // A line per download shows the progress.
  npm_config_loglevel: 'http',
};
