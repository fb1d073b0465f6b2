// Confinement: disk access for the tools, limited to the allowed folders. confined-disk.ts implements it.

import type { FileHandle } from 'node:fs/promises';

export type EntryKind = 'file' | 'directory' | 'symlink' | 'other';

export interface FolderEntry {
  readonly name: string;
  /** Kind of the entry itself; links are not followed. */
  readonly kind: EntryKind;
}

/** Metadata of a file or folder. */
export interface Facts {
  /** Absolute path; starts with the allowed folder as configured. */
  readonly path: string;
  readonly kind: EntryKind;
  readonly sizeBytes: number;
  readonly modifiedAt: Date;
  /** Time of the last change of content or attributes, in nanoseconds; programs cannot set it back. */
  readonly changedNs: bigint;
  readonly accessedAt: Date;
  readonly createdAt: Date;
  /** Permission bits, for example 0o644. */
  readonly mode: number;
}

export interface OpenFile extends Facts {
  /** Open regular file, verified after opening. */
  readonly handle: FileHandle;
}

/**
 * Disk access within the allowed folders. Relative paths start at the first folder. Refusals and system
 * errors are ToolErrors without outside paths. A signal aborts only work that has not changed the disk yet.
 */
export interface Confinement {
  /** Allowed folders as configured, absolute. */
  readonly folders: readonly string[];
  facts(path: string): Promise<Facts>;
  /**
   * Runs `use` with the file open for reading, and closes it. Refuses folders, devices, pipes and sockets.
   */
  read<Result>(path: string, use: (file: OpenFile) => Promise<Result>): Promise<Result>;
  /**
   * Returns entries sorted by name, without temporary files. `isTruncated` is true if there are more than
   * `limit`.
   */
  list(
    path: string,
    limit: number,
    signal?: AbortSignal,
  ): Promise<{ path: string; entries: readonly FolderEntry[]; isTruncated: boolean }>;
  /** Writes a file atomically (atomic-write.ts). Keeps the mode of an existing file. */
  write(
    path: string,
    content: string | Uint8Array,
    signal?: AbortSignal,
  ): Promise<{ path: string; existed: boolean }>;
  /** Reads, edits and writes a file; refuses if the file changed on disk in between. */
  change(
    path: string,
    maxBytes: number,
    edit: (before: Buffer) => Promise<Buffer> | Buffer,
    signal?: AbortSignal,
  ): Promise<{ path: string }>;
  /** Creates a folder with missing parents; an existing folder is accepted. */
  makeDirectory(path: string): Promise<{ path: string; existed: boolean }>;
  /** Moves an entry. Never replaces an existing destination. */
  move(source: string, destination: string): Promise<{ source: string; destination: string }>;
  close(): Promise<void>;
}
