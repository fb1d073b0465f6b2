// What the filesystem server may do with the disk: the interface of its tools to confined-disk.ts, and how it is opened.

import { type FileHandle, stat } from 'node:fs/promises';
import { complain } from '../../complaint.ts';
import { UsageError } from '../../tool-error.ts';
import { AllowedFolder } from './allowed-folder.ts';
import { ConfinedDisk } from './confined-disk.ts';
import { type Pin, pinByProc } from './pinned.ts';
import { pinByName } from './pinned-by-name.ts';

export type EntryKind = 'file' | 'directory' | 'symlink' | 'other';

export interface Entry {
  readonly name: string;
  /** Of the entry itself; a link that leads inside counts as what it leads to only in `facts`. */
  readonly kind: EntryKind;
}

export interface Facts {
  /** Absolute, as the caller may say it: below the allowed folder as it was given on the command line. */
  readonly path: string;
  readonly kind: EntryKind;
  readonly sizeBytes: number;
  readonly modifiedAt: Date;
  /** When the system last saw content or attributes change, in nanoseconds; no program can set it back. */
  readonly changedNs: bigint;
  readonly accessedAt: Date;
  readonly createdAt: Date;
  /** Octal, such as 0644. */
  readonly mode: number;
}

export interface OpenFile extends Facts {
  /** Of a regular file that was proven to lie inside after it was opened. */
  readonly handle: FileHandle;
}

/**
 * Every path may be relative (then in the first folder). Every refusal and system error is a ToolError that discloses no
 * outside path. A signal ends work that has had no effect yet.
 */
export interface Confinement {
  /** The allowed folders as given, absolute. */
  readonly folders: readonly string[];
  facts(path: string): Promise<Facts>;
  /** Runs `use` with the file open for reading; always closes it. Folders, devices, pipes and sockets are refused. */
  read<Result>(path: string, use: (file: OpenFile) => Promise<Result>): Promise<Result>;
  /** Entries sorted by name, without the temporary files of writes; `isTruncated` when there are more than `limit`. */
  list(
    path: string,
    limit: number,
    signal?: AbortSignal,
  ): Promise<{ path: string; entries: readonly Entry[]; isTruncated: boolean }>;
  /** Whole or not at all: temporary file, fsync, rename, fsync of the folder; keeps the mode of a file that was there. */
  write(
    path: string,
    content: string | Uint8Array,
    signal?: AbortSignal,
  ): Promise<{ path: string; wasThere: boolean }>;
  /** Reads, changes, and writes back; refuses when the file changed on disk in between. */
  change(
    path: string,
    maxBytes: number,
    edit: (before: Buffer) => Promise<Buffer> | Buffer,
    signal?: AbortSignal,
  ): Promise<{ path: string }>;
  /** With its missing parents; no error when it is there already. */
  makeDirectory(path: string): Promise<{ path: string; wasThere: boolean }>;
  /** Never replaces what is at `destination`. */
  move(source: string, destination: string): Promise<{ source: string; destination: string }>;
  close(): Promise<void>;
}

/**
 * Opens the allowed folders, in the order given; each once.
 * @param pin how things are held; by /proc where there is one
 * @throws UsageError when one of them is no existing folder
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
