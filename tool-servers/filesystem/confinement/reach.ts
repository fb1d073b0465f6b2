// From a path as it was said to the thing on the disk, proven to lie in an allowed folder: the only way there is to one.
//
// 1. A path is pinned first (links followed by the system, nothing opened), then the pin's real place is checked; what is
//    done is done to the pin. So a name that is swapped before, between or after leads nowhere outside.
// 2. A way through a link that ends outside, at nothing, or at something forbidden: always the same words.
// 3. Failures inside are told by the first name on the way that does not lead on.

import { constants } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { posix } from 'node:path';
import { ToolError } from '../../tool-error.ts';
import { isAscii, nameIn } from '../paths/name-form.ts';
import { isWithin, quoted, textOf } from '../paths/path-text.ts';
import { type SpokenPath, speak } from '../paths/spoken-path.ts';
import { isSystemError, told } from '../system-error.ts';
import type { AllowedFolder } from './allowed-folder.ts';
import type { WriteTarget } from './atomic-write.ts';
import { isSame, MovedAway, type Pin, type Pinned } from './pinned.ts';

const { O_DIRECTORY, O_NOFOLLOW } = constants;

export class Reach {
  readonly #folders: readonly AllowedFolder[];
  readonly #pin: Pin;

  constructor(folders: readonly AllowedFolder[], pin: Pin) {
    this.#folders = folders;
    this.#pin = pin;
  }

  /** @throws ToolError when `path` is outside by its letters */
  speak(path: string): SpokenPath {
    return speak(path, this.#folders);
  }

  /** The same for what must be a file. */
  speakOfFile(path: string): SpokenPath {
    const spoken = this.speak(path);
    if (spoken.isFolder || spoken.names.length === 0)
      throw new ToolError(`${quoted(path)} is the path of a folder. Say the path of a file.`);
    return spoken;
  }

  /**
   * Runs `use` with what the path leads to, after all links; lets go of it afterwards.
   * @throws ToolError for every refusal and every failure of the system, in `use` too
   */
  async to<Result>(
    spoken: SpokenPath,
    flags: number,
    use: (pinned: Pinned) => Promise<Result>,
  ): Promise<Result> {
    const pinned = await this.#pinInside(spoken, spoken.isFolder ? flags | O_DIRECTORY : flags);
    try {
      return await use(pinned);
    } catch (error) {
      throw told(error, spoken.path);
    } finally {
      await pinned.close();
    }
  }

  /** Runs `use` with the folder that holds the path's last name and that name, whether there is something of it or not. */
  async toParent<Result>(
    spoken: SpokenPath,
    use: (parent: Pinned, name: string) => Promise<Result>,
  ): Promise<Result> {
    const name = spoken.names.at(-1);
    if (name === undefined)
      throw new ToolError(
        `${spoken.path} is an allowed folder itself. It can be neither moved nor replaced.`,
      );
    const parent = await this.#pinInside(folderOf(spoken), O_DIRECTORY).catch((error) => {
      throw withWayOut(error);
    });
    try {
      return await use(parent, await nameIn(parent, name));
    } catch (error) {
      throw told(error, spoken.path);
    } finally {
      await parent.close();
    }
  }

  /** Runs `use` with the place where the content of the path belongs: a new name, or a regular file, after all links. */
  async toTarget<Result>(spoken: SpokenPath, use: (target: WriteTarget) => Promise<Result>): Promise<Result> {
    return await this.toParent(spoken, async (parent, name) => {
      const existing = await this.#pin(parent.at(name), O_NOFOLLOW).catch(nothingThere);
      try {
        if (existing?.stats.isSymbolicLink()) return await this.#toEndOfLink(spoken, use);
        if (existing) mustBeFile(existing, spoken.path);
        return await use({ parent, name, existing });
      } finally {
        await existing?.close();
      }
    });
  }

  /** What the entry itself is, a link not followed. @throws the system's error */
  async pinEntry(parent: Pinned, name: string): Promise<Pinned> {
    return await this.#pin(parent.at(name), O_NOFOLLOW);
  }

  /** Whether an allowed folder is `real` or lies in it. */
  holdsAllowedFolder(real: string): boolean {
    return this.#folders.some((folder) => isWithin(real, folder.real));
  }

  /** A link is never replaced: what it leads to is, in the folder where that really lies. */
  async #toEndOfLink<Result>(
    spoken: SpokenPath,
    use: (target: WriteTarget) => Promise<Result>,
  ): Promise<Result> {
    return await this.to(spoken, 0, async (existing) => {
      mustBeFile(existing, spoken.path);
      const end = textOf(existing.real);
      if (end === undefined) throw new ToolError(`${quoted(spoken.path)} leads to a name that is not UTF-8.`);
      const parent = await this.#pin(posix.dirname(end), O_DIRECTORY | O_NOFOLLOW);
      try {
        await this.#mustBeInside(parent, spoken);
        const name = posix.basename(end);
        const again = await this.#pin(parent.at(name), O_NOFOLLOW);
        await again.close();
        if (!isSame(again.stats, existing.stats)) throw new MovedAway();
        return await use({ parent, name, existing });
      } finally {
        await parent.close();
      }
    });
  }

  async #pinInside(spoken: SpokenPath, flags: number): Promise<Pinned> {
    await spoken.folder.mustBeInPlace();
    const pinned = await this.#pin(placeOf(spoken), flags).catch(async (error: unknown) => {
      if (!isSystemError(error)) throw error;
      if (error.code === 'ENOENT' && !spoken.names.every(isAscii)) {
        const found = await this.#pinOtherForm(spoken, flags).catch(nothingFound);
        if (found) return found;
      }
      throw await this.#whyNot(spoken, error);
    });
    try {
      await this.#mustBeInside(pinned, spoken);
      return pinned;
    } catch (error) {
      await pinned.close();
      throw error;
    }
  }

  /**
   * Holds on to what the path leads to with its names in the form in which the folders on the way have them. What is
   * outside is as good as missing: the name that was said is.
   */
  async #pinOtherForm(spoken: SpokenPath, flags: number): Promise<Pinned | undefined> {
    const names: string[] = [];
    for (const name of spoken.names) {
      const folder = await this.#pin(placeOf({ ...spoken, names }), O_DIRECTORY);
      try {
        if (!this.#folderAround(folder.real)) return undefined;
        names.push(await nameIn(folder, name));
      } finally {
        await folder.close();
      }
    }
    const pinned = await this.#pin(placeOf({ ...spoken, names }), flags);
    if (this.#folderAround(pinned.real)) return pinned;
    await pinned.close();
    return undefined;
  }

  async #mustBeInside({ real }: Pinned, spoken: SpokenPath): Promise<void> {
    const folder = this.#folderAround(real);
    if (folder === undefined) throw leadsOutside(spoken);
    if (folder !== spoken.folder) await folder.mustBeInPlace();
  }

  #folderAround(real: string): AllowedFolder | undefined {
    return this.#folders.find((folder) => isWithin(folder.real, real));
  }

  /** Walks the way name by name up to where it ends; looks at nothing that is not in a folder proven inside. */
  async #whyNot(spoken: SpokenPath, error: unknown): Promise<unknown> {
    let parent = await this.#pin(spoken.folder.at(''), O_DIRECTORY);
    try {
      for (let count = 1; count <= spoken.names.length; count++) {
        const part = upTo(spoken, count);
        let next: Pinned;
        try {
          next = await this.#pin(placeOf(part), count < spoken.names.length ? O_DIRECTORY : 0);
        } catch (partError) {
          const isLink = await lstat(parent.at(part.names.at(-1) ?? '')).then(
            (stats) => stats.isSymbolicLink(),
            () => false,
          );
          return isLink ? leadsOutside(spoken) : told(partError, part.path);
        }
        await parent.close();
        parent = next;
        if (!this.#folderAround(next.real)) return leadsOutside(spoken);
      }
    } catch (walkError) {
      return told(walkError, spoken.path);
    } finally {
      await parent.close();
    }
    return told(error, spoken.path);
  }
}

/** @throws ToolError when it is anything but a regular file */
export function mustBeFile({ stats }: Pinned, path: string): void {
  if (stats.isFile()) return;
  throw new ToolError(
    stats.isDirectory()
      ? `${quoted(path)} is a folder. Say the path of a file.`
      : `${quoted(path)} is a device, a pipe or a socket. Only regular files are read and written.`,
  );
}

/** The first `count` names of the way. */
export function upTo(spoken: SpokenPath, count: number): SpokenPath {
  const names = spoken.names.slice(0, count);
  return { ...spoken, names, path: posix.join(spoken.folder.path, ...names) };
}

function folderOf(spoken: SpokenPath): SpokenPath {
  return upTo(spoken, spoken.names.length - 1);
}

function placeOf({ folder, names }: SpokenPath): string {
  return folder.at(names.join('/'));
}

function leadsOutside({ path }: SpokenPath): ToolError {
  return new ToolError(
    `${quoted(path)} leads through a link that ends at nothing in the allowed folders. ` +
      'Links are followed only to what lies inside them; choose another path.',
  );
}

/** The same error; where a folder is missing, with a word on how to get one. */
function withWayOut(error: unknown): unknown {
  if (!(error instanceof ToolError) || !isSystemError(error.cause) || error.cause.code !== 'ENOENT')
    return error;
  return new ToolError(`${error.message} create_directory makes folders.`);
}

/** For a second try: the failure of the first is told. */
function nothingFound(error: unknown): undefined {
  if (!isSystemError(error)) throw error;
}

function nothingThere(error: unknown): undefined {
  if (isSystemError(error) && error.code === 'ENOENT') return undefined;
  throw error;
}
