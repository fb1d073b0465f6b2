// One folder named on the command line, held open from the start: the server works in that very folder, not in whatever
// bears its name later. Somebody who removes, renames or replaces it is told so by every call.

import { constants } from 'node:fs';
import { resolve } from 'node:path';
import { ToolError, UsageError } from '../../tool-error.ts';
import { type PathBytes, textOf } from '../paths/path-text.ts';
import { isSystemError } from '../system-error.ts';
import type { Pin, Pinned } from './pinned.ts';

export class AllowedFolder {
  /** As given, absolute. */
  readonly path: string;
  /** After all links, as text: the other way to say it. */
  readonly realPath: string;
  readonly #pinned: Pinned;

  private constructor(path: string, realPath: string, pinned: Pinned) {
    this.path = path;
    this.realPath = realPath;
    this.#pinned = pinned;
  }

  /** @throws UsageError when there is no such folder */
  static async open(given: string, pin: Pin): Promise<AllowedFolder> {
    if (given === '' || given.includes('\0'))
      throw new UsageError(
        `an allowed folder is ${given === '' ? 'empty' : 'no path'}; name an existing folder`,
      );
    const path = resolve(given);
    let pinned: Pinned;
    try {
      pinned = await pin(path, constants.O_DIRECTORY);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      const what =
        error.code === 'ENOENT'
          ? 'does not exist; create it first'
          : error.code === 'ENOTDIR'
            ? 'is not a folder'
            : `cannot be opened (${error.code})`;
      throw new UsageError(`the allowed folder ${path} ${what}`);
    }
    const realPath = textOf(pinned.real);
    if (realPath === undefined) {
      await pinned.close();
      throw new UsageError(`the allowed folder ${path} has a name that is not UTF-8; rename it`);
    }
    return new AllowedFolder(path, realPath, pinned);
  }

  get real(): PathBytes {
    return this.#pinned.real;
  }

  /** A path that leads to what lies at `below` in this folder; to the folder itself when `below` is empty. */
  at(below: string): string {
    return below === '' ? this.#pinned.self : this.#pinned.at(below);
  }

  /** @throws ToolError when the folder is no longer where it was at the start */
  async mustBeInPlace(): Promise<void> {
    if ((await this.#pinned.whereNow()) === this.real) return;
    throw new ToolError(
      `The allowed folder ${this.path} was removed, renamed or replaced after this server started. ` +
        'Have it put back, or have the server started again.',
    );
  }

  close(): Promise<void> {
    return this.#pinned.close();
  }
}
