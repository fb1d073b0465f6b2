// A gateway's state folder, from its boot to its end: the lock, the records of its children, the files with lists. The
// program chooses how it uses the folder: as its owner, beside an owner, or not at all:
// then nothing is read or written.
//
// FO1  `own`: nothing in the folder is touched before its lock is held, and the lock is given back when what was learnt is
//      written. Where the disk has no room even for a lock, it is lived in as if it were `shared`, and a warning says so: who
//      needs nothing from the folder is served, and the store has a lock of its own.
// FO2  `shared`: takes no lock, and touches of others only what is proven to be nobody's any more.

import { existsSync } from 'node:fs';
import type { Log } from '../base/errors/log.ts';
import type { Part } from '../base/supervision/part.ts';
import { ChildRecords } from './child-records.ts';
import { ListFiles } from './list-files.ts';
import { MARK_VARIABLE, markOfFolder, newMark } from './owner-mark.ts';
import { identityOf } from './process-identity.ts';
import { StateFolderError } from './state-folder-access.ts';
import { acquireStateLock, type StateLock } from './state-lock.ts';

export interface StateFolderOptions {
  readonly stateDir: string;
  readonly kind: 'own' | 'shared' | 'none';
  /** Named in the lock, for whoever finds the folder taken. */
  readonly listenAddr: string;
  /** The gateway's own: it is somebody's child itself where there is a mark in it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Hashes of the catalog's entries, as they are now. */
  readonly usedHashes: () => ReadonlySet<string>;
}

const DAY_MS = 86_400_000;

export class StateFolder implements Part {
  readonly #options: StateFolderOptions;
  readonly #lists: ListFiles | undefined;
  readonly #lock: StateLock | undefined;
  readonly #marking: NodeJS.Timeout | undefined;
  /** Records of running children; undefined where nothing is kept. */
  readonly records: ChildRecords | undefined;

  /** Locks the folder and ends orphaned processes. Rejects with AlreadyHeldError or StateFolderError. */
  static async open(options: StateFolderOptions): Promise<StateFolder> {
    const folder = new StateFolder(options, options.kind === 'own' ? await lockOf(options) : undefined);
    for (const { pid, server, wasKilled } of (await folder.records?.sweep()) ?? []) {
      options.log.warn(
        { pid, server, was_killed: wasKilled },
        'ended a process that an earlier gateway had left behind',
      );
    }
    return folder;
  }

  private constructor(options: StateFolderOptions, lock: StateLock | undefined) {
    const { kind, stateDir, log, usedHashes } = options;
    this.#options = options;
    this.#lock = lock;
    if (kind === 'none') return;
    const onWarning = (what: string) => log.warn({}, what);
    this.#lists = new ListFiles(stateDir, usedHashes, onWarning);
    this.records = new ChildRecords(stateDir, identityOf(process.pid), onWarning);
    this.#marking = setInterval(() => this.sweepLists(), DAY_MS).unref();
  }

  /** For a child that is about to be started; undefined where the system shows no marks. */
  newMark(server: string): string | undefined {
    const { kind, stateDir, environment } = this.#options;
    return newMark(kind === 'none' ? '-' : markOfFolder(stateDir), server, environment[MARK_VARIABLE]);
  }

  /** The file for the lists of the entry of this hash, where anything is kept. */
  listFile(hash: string): string | undefined {
    return this.#lists?.path(hash);
  }

  /** Sees to the files with lists, on the side: to be called when the catalog has been applied. */
  sweepLists(): void {
    void this.#lists?.sweep().then((removed) => {
      if (removed > 0)
        this.#options.log.debug({ removed }, 'lists of entries that are long gone were removed');
    });
  }

  /** Releases the lock, after the lists were written (FO1). */
  async drain(): Promise<void> {
    clearInterval(this.#marking);
    await this.#lock?.release();
  }
}

/** Returns undefined where the disk has no room for a lock (FO1). */
async function lockOf({ stateDir, listenAddr, log }: StateFolderOptions): Promise<StateLock | undefined> {
  try {
    return await acquireStateLock(stateDir, { listenAddr });
  } catch (error) {
    const isFull = error instanceof StateFolderError && error.isFull && existsSync(stateDir);
    if (!isFull) throw error;
    const { message: reason } = error;
    log.warn({ reason }, 'the state folder is not locked: start no other gateway in it');
    return undefined;
  }
}
