// The interface through which the tools of the filesystem server access the disk. confined-disk.ts implements it.

import type { FileHandle } from 'node:fs/promises';

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
