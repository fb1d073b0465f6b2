// Resolves requested paths to pinned entries (pinned-entry.ts) in the allowed folders. All disk access uses
// this class.
//
// 1. A path is pinned first: the system follows links, but opens no content. Then the real path of the pin is
//    checked. Operations use the pin, so swapped names cannot redirect them to the outside.
// 2. Links to outside, missing or forbidden targets cause the same message: it reveals nothing about the
//    target.
// 3. Failures inside the allowed folders report the first name in the path that fails.

import { constants } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { posix } from 'node:path';
import { ToolError } from '../../tool-error.ts';
import { isWithin, quote, textOf } from '../paths/path-text.ts';
import { parsePath, type RequestedPath } from '../paths/requested-path.ts';
import { findNameIn, isAscii } from '../paths/unicode-names.ts';
import { isSystemError, toToolError } from '../system-error.ts';
import type { AllowedFolder } from './allowed-folder.ts';
import type { WriteTarget } from './atomic-write.ts';
import { isSame, type Pin, type PinnedEntry, StaleEntryError } from './pinned-entry.ts';

const { O_DIRECTORY, O_NOFOLLOW } = constants;

export class PathResolver {
  readonly #folders: readonly AllowedFolder[];
  readonly #pin: Pin;

  constructor(folders: readonly AllowedFolder[], pin: Pin) {
    this.#folders = folders;
    this.#pin = pin;
  }

  /** Parses a path. Throws a ToolError if it is outside, judged by its text. */
  parse(path: string): RequestedPath {
    return parsePath(path, this.#folders);
  }

  /** Parses a path that must be a file. */
  parseFilePath(path: string): RequestedPath {
    const requestedPath = this.parse(path);
    if (requestedPath.isFolder || requestedPath.names.length === 0)
      throw new ToolError(`${quote(path)} is the path of a folder. Pass the path of a file.`);
    return requestedPath;
  }

  /**
   * Follows all links, runs `use` with the entry, and releases it.
   * @throws ToolError for refusals and system errors, including those in `use`
   */
  async withEntry<Result>(
    requestedPath: RequestedPath,
    flags: number,
    use: (pinned: PinnedEntry) => Promise<Result>,
  ): Promise<Result> {
    const pinned = await this.#pinInside(requestedPath, requestedPath.isFolder ? flags | O_DIRECTORY : flags);
    try {
      return await use(pinned);
    } catch (error) {
      throw toToolError(error, requestedPath.path);
    } finally {
      await pinned.close();
    }
  }

  /** Runs `use` with the parent folder and the last name of the path. The name may be missing on disk. */
  async withParent<Result>(
    requestedPath: RequestedPath,
    use: (parent: PinnedEntry, name: string) => Promise<Result>,
  ): Promise<Result> {
    const name = requestedPath.names.at(-1);
    if (name === undefined)
      throw new ToolError(`${requestedPath.path} is an allowed folder, which cannot be moved or replaced.`);
    const parent = await this.#pinInside(parentOf(requestedPath), O_DIRECTORY).catch((error) => {
      throw withCreateHint(error);
    });
    try {
      return await use(parent, await findNameIn(parent, name));
    } catch (error) {
      throw toToolError(error, requestedPath.path);
    } finally {
      await parent.close();
    }
  }

  /** Follows all links and runs `use` with the write target: a new name, or a regular file. */
  async withTarget<Result>(
    requestedPath: RequestedPath,
    use: (target: WriteTarget) => Promise<Result>,
  ): Promise<Result> {
    return await this.withParent(requestedPath, async (parent, name) => {
      const existing = await this.#pin(parent.at(name), O_NOFOLLOW).catch(ignoreMissing);
      try {
        if (existing?.stats.isSymbolicLink()) return await this.#withLinkTarget(requestedPath, use);
        if (existing) assertFile(existing, requestedPath.path);
        return await use({ parent, name, existing });
      } finally {
        await existing?.close();
      }
    });
  }

  /** Pins the entry itself: links are not followed. Throws the system error. */
  async pinEntry(parent: PinnedEntry, name: string): Promise<PinnedEntry> {
    return await this.#pin(parent.at(name), O_NOFOLLOW);
  }

  /** True if `real` is or contains an allowed folder. */
  containsAllowedFolder(real: string): boolean {
    return this.#folders.some((folder) => isWithin(real, folder.real));
  }

  /**
   * Runs `use` with the target of a link, in the target's folder: a write replaces the target, not the link.
   */
  async #withLinkTarget<Result>(
    requestedPath: RequestedPath,
    use: (target: WriteTarget) => Promise<Result>,
  ): Promise<Result> {
    return await this.withEntry(requestedPath, 0, async (existing) => {
      assertFile(existing, requestedPath.path);
      // `real` has one character for each byte of the path, so it may contain bytes that are not UTF-8.
      const targetPath = textOf(existing.real);
      if (targetPath === undefined)
        throw new ToolError(`${quote(requestedPath.path)} refers to a name that is not UTF-8.`);
      const parent = await this.#pin(posix.dirname(targetPath), O_DIRECTORY | O_NOFOLLOW);
      try {
        await this.#assertInside(parent, requestedPath);
        const name = posix.basename(targetPath);
        const current = await this.#pin(parent.at(name), O_NOFOLLOW);
        await current.close();
        if (!isSame(current.stats, existing.stats)) throw new StaleEntryError();
        return await use({ parent, name, existing });
      } finally {
        await parent.close();
      }
    });
  }

  async #pinInside(requestedPath: RequestedPath, flags: number): Promise<PinnedEntry> {
    await requestedPath.folder.assertInPlace();
    const pinned = await this.#pin(systemPathOf(requestedPath), flags).catch(async (error: unknown) => {
      if (!isSystemError(error)) throw error;
      if (error.code === 'ENOENT' && !requestedPath.names.every(isAscii)) {
        const alternative = await this.#pinEquivalentName(requestedPath, flags).catch(ignoreSystemError);
        if (alternative) return alternative;
      }
      throw await this.#explainFailure(requestedPath, error);
    });
    try {
      await this.#assertInside(pinned, requestedPath);
      return pinned;
    } catch (error) {
      await pinned.close();
      throw error;
    }
  }

  /** Pins the path with each name in the Unicode form used on disk. Entries outside count as missing. */
  async #pinEquivalentName(requestedPath: RequestedPath, flags: number): Promise<PinnedEntry | undefined> {
    const names: string[] = [];
    for (const name of requestedPath.names) {
      const folder = await this.#pin(systemPathOf({ ...requestedPath, names }), O_DIRECTORY);
      try {
        if (!this.#allowedFolderOf(folder.real)) return undefined;
        names.push(await findNameIn(folder, name));
      } finally {
        await folder.close();
      }
    }
    const pinned = await this.#pin(systemPathOf({ ...requestedPath, names }), flags);
    if (this.#allowedFolderOf(pinned.real)) return pinned;
    await pinned.close();
    return undefined;
  }

  async #assertInside({ real }: PinnedEntry, requestedPath: RequestedPath): Promise<void> {
    const folder = this.#allowedFolderOf(real);
    if (folder === undefined) throw outsideLinkError(requestedPath);
    if (folder !== requestedPath.folder) await folder.assertInPlace();
  }

  #allowedFolderOf(real: string): AllowedFolder | undefined {
    return this.#folders.find((folder) => isWithin(folder.real, real));
  }

  /** Returns an error for the first name that fails. Examines entries in verified folders only. */
  async #explainFailure(requestedPath: RequestedPath, error: unknown): Promise<unknown> {
    let parent = await this.#pin(requestedPath.folder.at(''), O_DIRECTORY);
    try {
      for (let count = 1; count <= requestedPath.names.length; count++) {
        const part = firstNames(requestedPath, count);
        let next: PinnedEntry;
        try {
          next = await this.#pin(systemPathOf(part), count < requestedPath.names.length ? O_DIRECTORY : 0);
        } catch (partError) {
          const isLink = await lstat(parent.at(part.names.at(-1) ?? '')).then(
            (stats) => stats.isSymbolicLink(),
            () => false,
          );
          return isLink ? outsideLinkError(requestedPath) : toToolError(partError, part.path);
        }
        await parent.close();
        parent = next;
        if (!this.#allowedFolderOf(next.real)) return outsideLinkError(requestedPath);
      }
    } catch (walkError) {
      return toToolError(walkError, requestedPath.path);
    } finally {
      await parent.close();
    }
    return toToolError(error, requestedPath.path);
  }
}

/** Throws a ToolError unless the entry is a regular file. */
export function assertFile({ stats }: PinnedEntry, path: string): void {
  if (stats.isFile()) return;
  throw new ToolError(
    stats.isDirectory()
      ? `${quote(path)} is a folder. Pass the path of a file.`
      : `${quote(path)} is a device, a pipe or a socket. Only regular files are supported.`,
  );
}

/** Returns the path that consists of the first `count` names. */
export function firstNames(requestedPath: RequestedPath, count: number): RequestedPath {
  const names = requestedPath.names.slice(0, count);
  return { ...requestedPath, names, path: posix.join(requestedPath.folder.path, ...names) };
}

function parentOf(requestedPath: RequestedPath): RequestedPath {
  return firstNames(requestedPath, requestedPath.names.length - 1);
}

function systemPathOf({ folder, names }: RequestedPath): string {
  return folder.at(names.join('/'));
}

function outsideLinkError({ path }: RequestedPath): ToolError {
  return new ToolError(
    `${quote(path)} contains a symbolic link without a target in the allowed folders. ` +
      'Links are followed only within the allowed folders; choose another path.',
  );
}

/** Adds a hint to the error if a folder is missing. */
function withCreateHint(error: unknown): unknown {
  if (!(error instanceof ToolError) || !isSystemError(error.cause) || error.cause.code !== 'ENOENT')
    return error;
  return new ToolError(`${error.message} Use create_directory to create folders.`);
}

/** Ignores a system error of the second attempt; the first error is reported. */
function ignoreSystemError(error: unknown): undefined {
  if (!isSystemError(error)) throw error;
}

function ignoreMissing(error: unknown): undefined {
  if (isSystemError(error) && error.code === 'ENOENT') return undefined;
  throw error;
}
