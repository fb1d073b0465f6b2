// The gateway's state folder: lock, records of children, cached lists (tools of servers), client sessions.
//
// It is used in one of three ways. `own`: this gateway locks the folder before it touches any file. If the
// disk is too full for the lock, it raises an alarm and uses the folder as `shared`, since most requests work
// without the folder, and the store has a separate lock. `shared`: no lock; files of other gateways are
// changed only if their owner is certainly dead. `none`: nothing is read or written.

import { existsSync } from 'node:fs';
import type { Alarms } from '../base/alarms/alarms.ts';
import type { Log } from '../base/errors/log.ts';
import type { Part } from '../base/supervision/part.ts';
import { CachedListFiles } from './cached-lists.ts';
import { ChildRecords } from './child-records.ts';
import { StateFolderError } from './folder-access.ts';
import { acquireStateLock, type StateLock } from './lock.ts';
import { MARK_VARIABLE, markOfFolder, newMark } from './owner-mark.ts';
import { identityOf } from './process-identity.ts';
import { SessionJournal } from './session-journal.ts';

export interface StateFolderOptions {
  readonly stateDir: string;
  readonly kind: 'own' | 'shared' | 'none';
  /** Address in the lock, for the error message of a second gateway. */
  readonly listenAddr: string;
  /** Environment of the gateway. If another gateway started it, it contains an owner mark (owner-mark.ts). */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly alarms: Pick<Alarms, 'raise'>;
  /** Returns the hashes of the current catalog entries. */
  readonly usedHashes: () => ReadonlySet<string>;
}

const DAY_MS = 86_400_000;

export class StateFolder implements Part {
  readonly #options: StateFolderOptions;
  readonly #lists: CachedListFiles | undefined;
  readonly #lock: StateLock | undefined;
  readonly #sweepTimer: NodeJS.Timeout | undefined;
  /** Records of running children; undefined for `none`. */
  readonly records: ChildRecords | undefined;
  /** Records of client sessions; undefined unless this gateway has locked the folder. */
  readonly sessions: SessionJournal | undefined;

  /**
   * Locks the folder and terminates orphaned processes. Rejects with AlreadyInUseError or StateFolderError.
   */
  static async open(options: StateFolderOptions): Promise<StateFolder> {
    const lock = options.kind === 'own' ? await lockOf(options) : undefined;
    const onWarning = (message: string) => options.log.warn({}, message);
    const sessions = lock && (await SessionJournal.open(options.stateDir, onWarning));
    const folder = new StateFolder(options, lock, sessions);
    for (const { pid, server, wasKilled } of (await folder.records?.sweep()) ?? []) {
      options.log.warn(
        { pid, server, was_killed: wasKilled },
        'terminated an orphaned process of an earlier gateway',
      );
    }
    return folder;
  }

  private constructor(
    options: StateFolderOptions,
    lock: StateLock | undefined,
    sessions: SessionJournal | undefined,
  ) {
    const { kind, stateDir, log, usedHashes } = options;
    this.#options = options;
    this.#lock = lock;
    this.sessions = sessions;
    if (kind === 'none') return;
    const onWarning = (message: string) => log.warn({}, message);
    this.#lists = new CachedListFiles(stateDir, usedHashes, onWarning);
    this.records = new ChildRecords(stateDir, identityOf(process.pid), onWarning);
    this.#sweepTimer = setInterval(() => this.sweepLists(), DAY_MS).unref();
  }

  /** Path of the folder if this gateway has locked it; otherwise only shared files may be written. */
  get stateDir(): string | undefined {
    return this.#lock === undefined ? undefined : this.#options.stateDir;
  }

  /** Returns the owner mark for a new child process; undefined without /proc. */
  newMark(server: string): string | undefined {
    const { kind, stateDir, environment } = this.#options;
    return newMark(kind === 'none' ? '-' : markOfFolder(stateDir), server, environment[MARK_VARIABLE]);
  }

  /** Returns the file of cached lists for a catalog entry; undefined for `none`. */
  listFile(hash: string): string | undefined {
    return this.#lists?.path(hash);
  }

  /** Deletes files of old catalog entries in the background; call it when a catalog was applied. */
  sweepLists(): void {
    void this.#lists?.sweep().then((removed) => {
      if (removed > 0) this.#options.log.debug({ removed }, 'removed list files of old catalog entries');
    });
  }

  /** Releases the lock. The servers, which write the lists, have stopped before this part. */
  async drain(): Promise<void> {
    clearInterval(this.#sweepTimer);
    await this.sessions?.close();
    await this.#lock?.release();
  }
}

/** Acquires the lock; undefined on a full disk. */
async function lockOf({ stateDir, listenAddr, alarms }: StateFolderOptions): Promise<StateLock | undefined> {
  try {
    return await acquireStateLock(stateDir, { listenAddr });
  } catch (error) {
    const isFull = error instanceof StateFolderError && error.isFull && existsSync(stateDir);
    if (!isFull) throw error;
    alarms.raise(
      'state_folder_unlocked',
      `the state folder has no lock, so start no other gateway in it: ${error.message}, and restart`,
    );
    return undefined;
  }
}
