// Every running child is written down, one small file each, so that children of a gateway that was killed are
// found and ended by the next one (A5). A child is ended only if its owner is dead and it is provably the same
// process: pid and start time, never its name. Nothing here throws; what goes wrong is told to `onWarning`.
// Where the system shows the marks of processes, a sweep finds by them what no record knows: what was started in the last
// moment before a kill, and what has left its group. Records stay for systems without, and for programs that drop the mark.

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ChildRecord, parseRecord, recordText } from './child-record.ts';
import { type SweptChild, sweepMarked } from './end-marked.ts';
import { isGroupGone, signalGroup } from './process-group.ts';
import {
  isAlive,
  isStartedSince,
  type ProcessIdentity,
  startTimeIn,
  startTimeOf,
} from './process-identity.ts';
import { membersOf, statOf } from './process-stat.ts';
import { isLeftUnfinished, replaceFile } from './small-file.ts';
import { makeStateFolder } from './state-folder-access.ts';

const TERM_GRACE_MS = 1000;
const KILL_GRACE_MS = 1000;

/** A record whose owner is dead. */
interface DeadRecord {
  readonly path: string;
  readonly record: ChildRecord;
  /** Its process group is there, and provably still the same. */
  readonly isSame: boolean;
}

export class ChildRecords {
  readonly #stateDir: string;
  readonly #folder: string;
  /** Makes the names our own: owners that share the folder, or had our pid, must not meet. */
  readonly #tag = randomBytes(6).toString('hex');
  readonly #owner: ProcessIdentity;
  readonly #onWarning: (message: string) => void;

  constructor(stateDir: string, owner: ProcessIdentity, onWarning: (message: string) => void = () => {}) {
    this.#stateDir = stateDir;
    this.#folder = join(stateDir, 'children');
    this.#owner = owner;
    this.#onWarning = onWarning;
  }

  /** Writes a child down; call it in the tick in which the child was started. */
  add(pid: number, server: string): void {
    try {
      makeStateFolder(this.#folder);
      const child = { pid, startTime: startTimeOf(pid) };
      replaceFile(this.#path(pid), recordText({ child, server, owner: this.#owner }));
    } catch (error) {
      this.#warn(`process ${pid} of server ${server} is not recorded and may survive kill -9`, error);
    }
  }

  remove(pid: number): void {
    this.#removeFile(this.#path(pid));
  }

  /** Ends the children of dead owners; takes three seconds when one resists. Gives those that were ended. */
  async sweep(): Promise<SweptChild[]> {
    const records = this.#files().flatMap((path) => {
      const record = this.#read(path);
      return record === undefined || isAlive(record.owner)
        ? []
        : [{ path, record, isSame: isSameGroup(record.child) }];
    });
    const known = new Set(records.flatMap(({ record, isSame }) => (isSame ? [record.child.pid] : [])));
    const [swept, marked] = await Promise.all([
      Promise.all(records.map((each) => this.#sweepRecorded(each))),
      sweepMarked(this.#stateDir, known),
    ]);
    return [...swept.filter((each) => each !== undefined), ...marked];
  }

  async #sweepRecorded({ path, record, isSame }: DeadRecord): Promise<SweptChild | undefined> {
    const { child, server } = record;
    const swept = isSame ? await this.#endGroup(record) : undefined;
    if (swept === undefined && child.startTime === undefined && isAlive(child))
      this.#onWarning(
        `process ${child.pid} may be left over from server ${server}; this system cannot prove it, so it is not ended`,
      );
    if (swept !== 'resists') this.#removeFile(path);
    else this.#onWarning(`process group ${child.pid} of server ${server} is left over and cannot be ended`);
    return swept === 'resists' ? undefined : swept;
  }

  async #endGroup({ child, server }: ChildRecord): Promise<SweptChild | 'resists'> {
    const { pid } = child;
    signalGroup(pid, 'SIGTERM');
    if (await isGroupGone(pid, TERM_GRACE_MS)) return { pid, server, wasKilled: false };
    if (isSameGroup(child)) signalGroup(pid, 'SIGKILL');
    return (await isGroupGone(pid, KILL_GRACE_MS)) ? { pid, server, wasKilled: true } : 'resists';
  }

  #path(pid: number): string {
    return join(this.#folder, `${pid}-${this.#tag}.json`);
  }

  #files(): string[] {
    try {
      const paths = readdirSync(this.#folder).map((name) => join(this.#folder, name));
      for (const path of paths) if (isLeftUnfinished(path)) this.#removeFile(path);
      return paths.filter((path) => path.endsWith('.json'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#warn(`${this.#folder} is not swept`, error);
      return [];
    }
  }

  #read(path: string): ChildRecord | undefined {
    try {
      const record = parseRecord(readFileSync(path, 'utf8'));
      if (record !== undefined) return record;
      this.#onWarning(`${path} is damaged and was removed; a process it named may be left over`);
      this.#removeFile(path);
    } catch (error) {
      // Gone in the meantime: its owner, or another sweep, has removed it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#warn(`${path} is not swept`, error);
    }
    return undefined;
  }

  #removeFile(path: string): void {
    try {
      rmSync(path, { force: true });
    } catch (error) {
      this.#warn(`${path} is not removed`, error);
    }
  }

  #warn(what: string, error: unknown): void {
    this.#onWarning(`${what}: ${(error as Error).message}`);
  }
}

/**
 * Whether the group that the child led is still the same. While the child exists its start time says so. When it
 * has gone and others of the group are left, its number is not given out again, so a group of that number whose
 * session has the same number, too, and whose members all began later in the same boot, is taken for its own.
 */
function isSameGroup({ pid, startTime }: ProcessIdentity): boolean {
  if (startTime === undefined || statOf(process.pid)?.group === pid) return false;
  const leader = statOf(pid);
  if (leader !== undefined) return startTimeIn(leader) === startTime;
  const members = membersOf(pid) ?? [];
  return (
    members.length > 0 &&
    members.every((member) => member.stat.session === pid && isStartedSince(member.pid, startTime))
  );
}
