// Implements Confinement on disk. path-resolver.ts and pinned-entry.ts verify paths; this file runs the
// operations.
//
// 1. Nothing outside the allowed folders is opened, read, listed, created, changed or removed, even if links
//    are swapped concurrently.
// 2. System errors become ToolErrors, which contain the caller's path and no real path.
// 3. If two calls change a file concurrently, one is refused; no change is lost.
//
// Limits: Hard links inside to files outside count as inside, and so do mounts inside allowed folders. If
// another program changes a file between the last comparison in `change` and the rename, that change is lost.
// If another program moves a folder out of an allowed folder during a call, the call continues in the moved
// folder.

import { constants } from 'node:fs';
import { lstat, mkdir, opendir } from 'node:fs/promises';
import { ToolError } from '../../tool-error.ts';
import { runWithDeadline } from '../call-deadline.ts';
import { CALL_SECONDS, MAX_FOLDER_ENTRIES } from '../limits.ts';
import { factsOf, kindOf } from '../paths/file-facts.ts';
import { isWithin, quote } from '../paths/path-text.ts';
import { isSystemError, toToolError } from '../system-error.ts';
import { assertUnchanged, readContent } from '../text/optimistic-change.ts';
import type { AllowedFolder } from './allowed-folder.ts';
import { isTemporaryName, replaceContent } from './atomic-write.ts';
import type { Confinement, Facts, FolderEntry, OpenFile } from './confinement.ts';
import { moveExclusively } from './exclusive-move.ts';
import { assertFile, firstNames, PathResolver } from './path-resolver.ts';
import { openPinned, type Pin, type PinnedEntry, StaleEntryError } from './pinned-entry.ts';

const READ_BATCH = 512;
const neverAborted = new AbortController().signal;

export class ConfinedDisk implements Confinement {
  readonly folders: readonly string[];
  readonly #folders: readonly AllowedFolder[];
  readonly #paths: PathResolver;
  /** Latest comparison and rename; the next one starts when it is complete. */
  #lastCommit: Promise<unknown> = Promise.resolve();

  constructor(folders: readonly AllowedFolder[], pin: Pin) {
    this.#folders = folders;
    this.#paths = new PathResolver(folders, pin);
    this.folders = folders.map(({ path }) => path);
  }

  async facts(path: string): Promise<Facts> {
    const requestedPath = this.#paths.parse(path);
    return await this.#paths.withEntry(requestedPath, 0, async ({ stats }) =>
      factsOf(requestedPath.path, stats),
    );
  }

  async read<Result>(path: string, use: (file: OpenFile) => Promise<Result>): Promise<Result> {
    const requestedPath = this.#paths.parseFilePath(path);
    return await this.#paths.withEntry(requestedPath, 0, async (pinned) => {
      assertFile(pinned, requestedPath.path);
      const handle = await openPinned(pinned, constants.O_RDONLY);
      try {
        return await use({ ...factsOf(requestedPath.path, pinned.stats), handle });
      } finally {
        await handle.close();
      }
    });
  }

  async list(
    path: string,
    limit: number,
    signal = neverAborted,
  ): Promise<{ path: string; entries: readonly FolderEntry[]; isTruncated: boolean }> {
    const requestedPath = this.#paths.parse(path);
    return await this.#paths.withEntry(requestedPath, constants.O_DIRECTORY, async (folder) => {
      const entries = await readEntries(folder, MAX_FOLDER_ENTRIES + 1, signal);
      // With /proc this fails only if the folder was moved. Without /proc the name may refer to another
      // folder by now.
      if ((await folder.currentPath()) !== folder.real) throw new StaleEntryError();
      const isTruncated = entries.length > Math.min(limit, MAX_FOLDER_ENTRIES);
      if (entries.length > MAX_FOLDER_ENTRIES) entries.pop();
      entries.sort((one, other) => (one.name < other.name ? -1 : 1));
      return { path: requestedPath.path, entries: entries.slice(0, limit), isTruncated };
    });
  }

  async write(
    path: string,
    content: string | Uint8Array,
    signal = neverAborted,
  ): Promise<{ path: string; existed: boolean }> {
    const requestedPath = this.#paths.parseFilePath(path);
    return await this.#paths.withTarget(requestedPath, async (target) => {
      await replaceContent(target, content, (rename) => this.#runExclusively(signal, rename));
      return { path: requestedPath.path, existed: target.existing !== undefined };
    });
  }

  async change(
    path: string,
    maxBytes: number,
    edit: (before: Buffer) => Promise<Buffer> | Buffer,
    signal = neverAborted,
  ): Promise<{ path: string }> {
    const requestedPath = this.#paths.parseFilePath(path);
    return await this.#paths.withTarget(requestedPath, async (target) => {
      const { existing } = target;
      if (!existing) throw Object.assign(new Error('nothing to change'), { code: 'ENOENT' });
      if (existing.stats.size > maxBytes)
        throw new ToolError(
          `${quote(requestedPath.path)} has ${existing.stats.size} bytes; the limit for edits is ${maxBytes}.`,
        );
      const before = await readContent(existing);
      const after = await edit(before);
      if (!after.equals(before))
        await replaceContent(target, after, (rename) =>
          this.#runExclusively(signal, async () => {
            await assertUnchanged(target, existing, requestedPath.path);
            await rename();
          }),
        );
      return { path: requestedPath.path };
    });
  }

  async makeDirectory(path: string): Promise<{ path: string; existed: boolean }> {
    const requestedPath = this.#paths.parse(path);
    let existed = true;
    for (let count = 1; count <= requestedPath.names.length; count++)
      await this.#paths.withParent(firstNames(requestedPath, count), async (parent, name) => {
        if (await exists(parent.at(name))) return;
        try {
          await mkdir(parent.at(name));
          existed = false;
        } catch (error) {
          if (!isSystemError(error) || error.code !== 'EEXIST') throw error;
        }
      });
    await this.#paths.withEntry(requestedPath, constants.O_DIRECTORY, async () => {});
    return { path: requestedPath.path, existed };
  }

  async move(source: string, destination: string): Promise<{ source: string; destination: string }> {
    const from = this.#paths.parse(source);
    const to = this.#paths.parse(destination);
    await this.#paths.withParent(from, (fromParent, fromName) =>
      this.#paths.withParent(to, async (toParent, toName) => {
        const entry = await this.#paths.pinEntry(fromParent, fromName).catch((error) => {
          throw toToolError(error, from.path);
        });
        try {
          if ((from.isFolder || to.isFolder) && !entry.stats.isDirectory())
            throw new ToolError(
              `${quote(from.path)} is not a folder. Pass source and destination without a trailing slash.`,
            );
          if (this.#paths.containsAllowedFolder(entry.real))
            throw new ToolError(
              `${quote(from.path)} is or contains an allowed folder, which cannot be moved.`,
            );
          if (entry.stats.isDirectory() && isWithin(entry.real, toParent.real))
            throw new ToolError(
              `${quote(from.path)} cannot be moved into itself. Choose another destination.`,
            );
          await moveExclusively({ parent: fromParent, name: fromName }, entry, {
            parent: toParent,
            name: toName,
          }).catch(async (error) => {
            throw (await exists(fromParent.at(fromName))) ? error : toToolError(error, from.path);
          });
        } finally {
          await entry.close();
        }
      }),
    );
    return { source: from.path, destination: to.path };
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#folders.map((folder) => folder.close()));
  }

  /**
   * Runs `step`, which compares and renames, exclusively among the calls of this server. Rejects without
   * running it if the call was aborted. A hanging step blocks other changes until the deadline.
   */
  #runExclusively(signal: AbortSignal, step: () => Promise<void>): Promise<void> {
    const result = this.#lastCommit.then(() =>
      runWithDeadline({ signal }, CALL_SECONDS * 1_000, false, step),
    );
    this.#lastCommit = result.catch(() => {});
    return result;
  }
}

async function readEntries(folder: PinnedEntry, limit: number, signal: AbortSignal): Promise<FolderEntry[]> {
  const entries: FolderEntry[] = [];
  for await (const entry of await opendir(folder.self, { bufferSize: READ_BATCH })) {
    signal.throwIfAborted();
    if (isTemporaryName(entry.name)) continue;
    entries.push({ name: entry.name, kind: kindOf(entry) });
    if (entries.length === limit) break;
  }
  return entries;
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error) => {
      if (isSystemError(error) && error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
