// Opens the allowed folders of the filesystem server and chooses how open files are held on this system.

import { stat } from 'node:fs/promises';
import { complain } from '../../complaint.ts';
import { UsageError } from '../../tool-error.ts';
import { AllowedFolder } from './allowed-folder.ts';
import { ConfinedDisk } from './confined-disk.ts';
import type { Confinement } from './confinement.ts';
import { type Pin, pinByProc } from './pinned.ts';
import { pinByName } from './pinned-by-name.ts';

/**
 * Opens the allowed folders in the given order, without duplicates.
 * @param pin way to hold open files; /proc if the system has it
 * @throws UsageError if an allowed folder does not exist
 */
export async function openConfinement(folders: readonly string[], pin?: Pin): Promise<Confinement> {
  if (folders.length === 0) throw new UsageError('name at least one allowed folder');
  const chosen = pin ?? (await pinOfSystem());
  const opened: AllowedFolder[] = [];
  try {
    for (const folder of folders) {
      const next = await AllowedFolder.open(folder, chosen);
      if (opened.some(({ path }) => path === next.path)) await next.close();
      else opened.push(next);
    }
    return new ConfinedDisk(opened, chosen);
  } catch (error) {
    for (const folder of opened) await folder.close();
    throw error;
  }
}

async function pinOfSystem(): Promise<Pin> {
  if (await hasProc()) return pinByProc;
  complain(
    'There is no /proc here: files are held by name, which is weaker against swapped links (see the docs).',
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
