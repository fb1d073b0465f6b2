// Allowed folder from the command line, held open from the start. If it is removed, renamed or replaced,
// calls fail; a later folder with the same name is not used.

import { constants } from 'node:fs';
import { resolve } from 'node:path';
import { StartupError, ToolError } from '../../tool-error.ts';
import { type PathBytes, textOf } from '../paths/path-text.ts';
import { isSystemError } from '../system-error.ts';
import type { Pin, PinnedEntry } from './pinned-entry.ts';

export class AllowedFolder {
  /** Configured path, absolute. */
  readonly path: string;
  /** Real path after all links, also accepted in requests. */
  readonly realPath: string;
  readonly #pinned: PinnedEntry;

  private constructor(path: string, realPath: string, pinned: PinnedEntry) {
    this.path = path;
    this.realPath = realPath;
    this.#pinned = pinned;
  }

  /** Throws a StartupError if the folder does not exist. */
  static async open(folder: string, pin: Pin): Promise<AllowedFolder> {
    if (folder === '' || folder.includes('\0'))
      throw new StartupError(
        `an allowed folder is ${folder === '' ? 'empty' : 'not a valid path'}; pass an existing folder`,
      );
    const path = resolve(folder);
    let pinned: PinnedEntry;
    try {
      pinned = await pin(path, constants.O_DIRECTORY);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      const problem =
        error.code === 'ENOENT'
          ? 'does not exist; create it first'
          : error.code === 'ENOTDIR'
            ? 'is not a folder'
            : `cannot be opened (${error.code})`;
      throw new StartupError(`the allowed folder ${path} ${problem}`);
    }
    const realPath = textOf(pinned.real);
    if (realPath === undefined) {
      await pinned.close();
      throw new StartupError(`the allowed folder ${path} has a name that is not UTF-8; rename it`);
    }
    return new AllowedFolder(path, realPath, pinned);
  }

  get real(): PathBytes {
    return this.#pinned.real;
  }

  /** Returns the path of `below` in this folder for system calls; the folder itself if `below` is empty. */
  at(below: string): string {
    return below === '' ? this.#pinned.self : this.#pinned.at(below);
  }

  /** Throws a ToolError if the folder is no longer at its original path. */
  async assertInPlace(): Promise<void> {
    if ((await this.#pinned.currentPath()) === this.real) return;
    throw new ToolError(
      `The allowed folder ${this.path} was removed, renamed or replaced after this server started. ` +
        'The operator must restore it or restart the server.',
    );
  }

  close(): Promise<void> {
    return this.#pinned.close();
  }
}
