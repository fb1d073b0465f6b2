// Where programs keep what belongs to a user, on each system. Written without node:path: the page has none, and a test
// on one system looks at the paths of the others.

import type { ClientFile, ClientScope, Machine } from './client.ts';

/** A folder below the user's home, in the same place on every system. */
export function inHome(machine: Machine, ...parts: readonly string[]): ClientFile {
  return fileAt('user', machine, machine.home, parts);
}

export function inProject(machine: Machine, ...parts: readonly string[]): ClientFile {
  return fileAt('project', machine, machine.cwd, parts);
}

/** The folder for applications: `~/Library/Application Support`, `%APPDATA%`, `~/.config`. */
export function inApplications(machine: Machine, ...parts: readonly string[]): ClientFile {
  const { platform, home, appData } = machine;
  if (platform === 'darwin')
    return fileAt('user', machine, home, ['Library', 'Application Support', ...parts]);
  if (platform !== 'win32') return inConfigHome(machine, ...parts);
  if (appData === undefined || appData === '')
    return fileAt('user', machine, home, ['AppData', 'Roaming', ...parts]);
  return fileAt('user', machine, appData, parts);
}

/** `$XDG_CONFIG_HOME`, or `~/.config`. */
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
  const ends = platform === 'win32' ? /[\\/]+$/ : /\/+$/;
  return { scope, path: [folder.replace(ends, ''), ...parts].join(separator) };
}
