// Opens the allowed folders of the filesystem server, and selects the pinning method of this system: how the
// server holds a file while names change (pinned-entry.ts).

import { stat } from 'node:fs/promises';
import { logError } from '../../stderr-log.ts';
import { StartupError } from '../../tool-error.ts';
import { AllowedFolder } from './allowed-folder.ts';
import { ConfinedDisk } from './confined-disk.ts';
import type { Confinement } from './confinement.ts';
import { pinByName } from './pin-by-name.ts';
import { type Pin, pinByProc } from './pinned-entry.ts';

/**
 * Opens the allowed folders in the given order, without duplicates.
 * @param pin pinning method; default: /proc if available
 * @throws StartupError if an allowed folder does not exist
 */
export async function openConfinement(folders: readonly string[], pin?: Pin): Promise<Confinement> {
  if (folders.length === 0) throw new StartupError('pass at least one allowed folder');
  const pinFunction = pin ?? (await systemPin());
  const openFolders: AllowedFolder[] = [];
  try {
    for (const folder of folders) {
      const next = await AllowedFolder.open(folder, pinFunction);
      if (openFolders.some(({ path }) => path === next.path)) await next.close();
      else openFolders.push(next);
    }
    return new ConfinedDisk(openFolders, pinFunction);
  } catch (error) {
    for (const folder of openFolders) await folder.close();
    throw error;
  }
}

async function systemPin(): Promise<Pin> {
  if (await hasProc()) return pinByProc;
  logError(
    'This system has no /proc: files are held by name, with weaker protection against swapped links (see the docs).',
  );
  return pinByName;
}

async function hasProc(): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  return await stat('/proc/self/fd').then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}
