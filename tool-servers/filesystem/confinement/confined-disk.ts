// The one way in which the filesystem server touches the disk: only what really lies in an allowed folder, at the moment
// it is touched. How that is proven is in reach.ts and pinned.ts; here is what is done with it.
//
// 1. Nothing outside is opened, read, listed, made, changed or removed, whatever links there are and whoever swaps them.
// 2. Every failure of the system is a ToolError that knows a path only as the caller said it.
// 3. Of two changes of a file at once one succeeds and the other is refused; none is lost.
// Not told apart: a hard link inside to a file outside is that file. What is mounted inside an allowed folder is inside.
// Left open to other programs: one that writes a file between the last comparison of `change` and the rename loses that,
// and one that moves a folder out of an allowed folder during a call takes the call with it.

import { constants } from 'node:fs';
import { lstat, mkdir, opendir } from 'node:fs/promises';
import { ToolError } from '../../tool-error.ts';
import { inTime } from '../call-deadline.ts';
import { CALL_SECONDS, MAX_ENTRIES_READ } from '../limits.ts';
import { factsOf, kindOf } from '../paths/facts.ts';
import { isWithin, quoted } from '../paths/path-text.ts';
import { isSystemError, told } from '../system-error.ts';
import { contentOf, mustBeUnchanged } from '../text/optimistic-change.ts';
import type { AllowedFolder } from './allowed-folder.ts';
import { isTemporaryName, replaceContent } from './atomic-write.ts';
import type { Confinement, Entry, Facts, OpenFile } from './confinement.ts';
import { moveExclusively } from './exclusive-move.ts';
import { MovedAway, openPinned, type Pin, type Pinned } from './pinned.ts';
import { mustBeFile, Reach, upTo } from './reach.ts';

const ENTRIES_PER_READ = 512;
const never = new AbortController().signal;

export class ConfinedDisk implements Confinement {
  readonly folders: readonly string[];
  readonly #folders: readonly AllowedFolder[];
  readonly #reach: Reach;
  #lastCommit: Promise<unknown> = Promise.resolve();

  constructor(folders: readonly AllowedFolder[], pin: Pin) {
    this.#folders = folders;
    this.#reach = new Reach(folders, pin);
    this.folders = folders.map(({ path }) => path);
  }

  async facts(path: string): Promise<Facts> {
    const spoken = this.#reach.speak(path);
    return await this.#reach.to(spoken, 0, async ({ stats }) => factsOf(spoken.path, stats));
  }

  async read<Result>(path: string, use: (file: OpenFile) => Promise<Result>): Promise<Result> {
    const spoken = this.#reach.speakOfFile(path);
    return await this.#reach.to(spoken, 0, async (pinned) => {
      mustBeFile(pinned, spoken.path);
      const handle = await openPinned(pinned, constants.O_RDONLY);
      try {
        return await use({ ...factsOf(spoken.path, pinned.stats), handle });
      } finally {
        await handle.close();
      }
    });
  }

  async list(
    path: string,
    limit: number,
    signal = never,
  ): Promise<{ path: string; entries: readonly Entry[]; isTruncated: boolean }> {
    const spoken = this.#reach.speak(path);
    return await this.#reach.to(spoken, constants.O_DIRECTORY, async (folder) => {
      const entries = await entriesOf(folder, MAX_ENTRIES_READ + 1, signal);
      // Always so with /proc, unless the folder was moved. Elsewhere its name may lead to something else by now.
      if ((await folder.whereNow()) !== folder.real) throw new MovedAway();
      const isTruncated = entries.length > Math.min(limit, MAX_ENTRIES_READ);
      if (entries.length > MAX_ENTRIES_READ) entries.pop();
      entries.sort((one, other) => (one.name < other.name ? -1 : 1));
      return { path: spoken.path, entries: entries.slice(0, limit), isTruncated };
    });
  }

  async write(
    path: string,
    content: string | Uint8Array,
    signal = never,
  ): Promise<{ path: string; wasThere: boolean }> {
    const spoken = this.#reach.speakOfFile(path);
    return await this.#reach.toTarget(spoken, async (target) => {
      await replaceContent(target, content, (rename) => this.#inTurn(signal, rename));
      return { path: spoken.path, wasThere: target.existing !== undefined };
    });
  }

  async change(
    path: string,
    maxBytes: number,
    edit: (before: Buffer) => Promise<Buffer> | Buffer,
    signal = never,
  ): Promise<{ path: string }> {
    const spoken = this.#reach.speakOfFile(path);
    return await this.#reach.toTarget(spoken, async (target) => {
      const { existing } = target;
      if (!existing) throw Object.assign(new Error('nothing to change'), { code: 'ENOENT' });
      if (existing.stats.size > maxBytes)
        throw new ToolError(
          `${quoted(spoken.path)} has ${existing.stats.size} bytes; at most ${maxBytes} can be changed in place.`,
        );
      const before = await contentOf(existing);
      const after = await edit(before);
      if (!after.equals(before))
        await replaceContent(target, after, (rename) =>
          this.#inTurn(signal, async () => {
            await mustBeUnchanged(target, existing, spoken.path);
            await rename();
          }),
        );
      return { path: spoken.path };
    });
  }

  async makeDirectory(path: string): Promise<{ path: string; wasThere: boolean }> {
    const spoken = this.#reach.speak(path);
    let wasThere = true;
    for (let count = 1; count <= spoken.names.length; count++)
      await this.#reach.toParent(upTo(spoken, count), async (parent, name) => {
        if (await isThere(parent.at(name))) return;
        try {
          await mkdir(parent.at(name));
          wasThere = false;
        } catch (error) {
          if (!isSystemError(error) || error.code !== 'EEXIST') throw error;
        }
      });
    await this.#reach.to(spoken, constants.O_DIRECTORY, async () => {});
    return { path: spoken.path, wasThere };
  }

  async move(source: string, destination: string): Promise<{ source: string; destination: string }> {
    const from = this.#reach.speak(source);
    const to = this.#reach.speak(destination);
    await this.#reach.toParent(from, (fromParent, fromName) =>
      this.#reach.toParent(to, async (toParent, toName) => {
        const moved = await this.#reach.pinEntry(fromParent, fromName).catch((error) => {
          throw told(error, from.path);
        });
        try {
          if ((from.isFolder || to.isFolder) && !moved.stats.isDirectory())
            throw new ToolError(
              `${quoted(from.path)} is no folder. Say source and destination without a slash at the end.`,
            );
          if (this.#reach.holdsAllowedFolder(moved.real))
            throw new ToolError(
              `${quoted(from.path)} is an allowed folder or holds one, and allowed folders stay where they are.`,
            );
          if (moved.stats.isDirectory() && isWithin(moved.real, toParent.real))
            throw new ToolError(
              `${quoted(from.path)} cannot be moved into itself. Choose another destination.`,
            );
          await moveExclusively({ parent: fromParent, name: fromName }, moved, {
            parent: toParent,
            name: toName,
          }).catch(async (error) => {
            throw (await isThere(fromParent.at(fromName))) ? error : told(error, from.path);
          });
        } finally {
          await moved.close();
        }
      }),
    );
    return { source: from.path, destination: to.path };
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#folders.map((folder) => folder.close()));
  }

  /**
   * Comparing a file and renaming over it is one step among the calls of this server. A call that was given up before
   * takes it no more, and one that hangs in it holds the others up for the time of a call.
   */
  #inTurn(signal: AbortSignal, step: () => Promise<void>): Promise<void> {
    const done = this.#lastCommit.then(() => inTime({ signal }, CALL_SECONDS * 1_000, false, step));
    this.#lastCommit = done.catch(() => {});
    return done;
  }
}

async function entriesOf(folder: Pinned, limit: number, signal: AbortSignal): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of await opendir(folder.self, { bufferSize: ENTRIES_PER_READ })) {
    signal.throwIfAborted();
    if (isTemporaryName(entry.name)) continue;
    entries.push({ name: entry.name, kind: kindOf(entry) });
    if (entries.length === limit) break;
  }
  return entries;
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error) => {
      if (isSystemError(error) && error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
