// Builds the paths of clients' configuration files for each operating system. Does not use node:path, because
// the inspector page in the browser also shows the paths, and tests check the paths of all systems.

import type { ClientFile, ClientScope, Machine } from './client.ts';

/** Returns a path below the user's home folder. */
export function inHome(machine: Machine, ...parts: readonly string[]): ClientFile {
  return fileAt('user', machine, machine.home, parts);
}

export function inProject(machine: Machine, ...parts: readonly string[]): ClientFile {
  return fileAt('project', machine, machine.cwd, parts);
}

/**
 * Returns a path in the folder for applications: `~/Library/Application Support`, `%APPDATA%`, `~/.config`.
 */
export function inApplications(machine: Machine, ...parts: readonly string[]): ClientFile {
  const { platform, home, appData } = machine;
  if (platform === 'darwin')
    return fileAt('user', machine, home, ['Library', 'Application Support', ...parts]);
  if (platform !== 'win32') return inConfigHome(machine, ...parts);
  if (appData === undefined || appData === '')
    return fileAt('user', machine, home, ['AppData', 'Roaming', ...parts]);
  return fileAt('user', machine, appData, parts);
}

/** Returns a path in `$XDG_CONFIG_HOME`, or in `~/.config`. */
export function inConfigHome(machine: Machine, ...parts: readonly string[]): ClientFile {
  const { home, configHome = '' } = machine;
  if (configHome !== '') return fileAt('user', machine, configHome, parts);
  return fileAt('user', machine, home, ['.config', ...parts]);
}

function fileAt(
  scope: ClientScope,
  { platform }: Machine,
  folder: string,
  parts: readonly string[],
): ClientFile {
  const separator = platform === 'win32' ? '\\' : '/';
  const trailingSlashes = platform === 'win32' ? /[\\/]+$/ : /\/+$/;
  return { scope, path: [folder.replace(trailingSlashes, ''), ...parts].join(separator) };
}
