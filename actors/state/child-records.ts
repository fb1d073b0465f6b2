// Records each running child process in a small file. After a gateway was killed, its children are orphans:
// the next gateway terminates them in a sweep. A child is terminated only if the owner (the gateway that
// started it) is dead, and pid and start time prove the child's identity; names are not compared. No method
// throws; problems go to `onWarning`.
//
// On Linux, a sweep also finds processes by their mark, an environment variable (owner-mark.ts): children
// that were started just before a kill, and processes that left their process group. Records are for other
// systems, and for programs that drop the mark.

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ChildRecord, parseRecord, recordText } from './child-record.ts';
import { type Container, endContainer } from './container.ts';
import { makeStateFolder } from './folder-access.ts';
import { signalGroup, waitForGroupEnd } from './process-group.ts';
import {
  isAlive,
  isStartedSince,
  type ProcessIdentity,
  startTimeIn,
  startTimeOf,
} from './process-identity.ts';
import { membersOf, statOf } from './process-stat.ts';
import { isLeftUnfinished, replaceFile } from './small-file.ts';
import { type SweptChild, sweepMarked } from './terminate-marked.ts';

const TERM_GRACE_MS = 1000;
const KILL_GRACE_MS = 1000;
/**
 * Time limit for ending an orphaned container: an engine that does not respond must not prevent the start.
 */
const CONTAINER_MS = 10_000;

/** Record whose owner is dead. */
interface DeadRecord {
  readonly path: string;
  readonly record: ChildRecord;
  /** True if the process group exists, and certainly is the group of the recorded child. */
  readonly isSame: boolean;
}

export class ChildRecords {
  readonly #stateDir: string;
  readonly #folder: string;
  /** Random part of the file names: several gateways can share the folder, and pids are reused. */
  readonly #tag = randomBytes(6).toString('hex');
  readonly #owner: ProcessIdentity;
  readonly #onWarning: (message: string) => void;

  constructor(stateDir: string, owner: ProcessIdentity, onWarning: (message: string) => void = () => {}) {
    this.#stateDir = stateDir;
    this.#folder = join(stateDir, 'children');
    this.#owner = owner;
    this.#onWarning = onWarning;
  }

  /** Records a child; call it in the tick that started the child. */
  add(pid: number, server: string, container?: Container): void {
    try {
      makeStateFolder(this.#folder);
      const child = { pid, startTime: startTimeOf(pid) };
      replaceFile(this.#path(pid), recordText({ child, server, owner: this.#owner, container }));
    } catch (error) {
      this.#warn(
        `could not record process ${pid} of server ${server}; it may survive kill -9 of the gateway`,
        error,
      );
    }
  }

  remove(pid: number): void {
    this.#removeFile(this.#path(pid));
  }

  /**
   * Terminates the children of dead owners, and returns them. Takes up to three seconds if a child resists.
   */
  async sweep(): Promise<SweptChild[]> {
    const records = this.#files().flatMap((path) => {
      const record = this.#read(path);
      return record === undefined || isAlive(record.owner)
        ? []
        : [{ path, record, isSame: isSameGroup(record.child) }];
    });
    const recordedPids = new Set(records.flatMap(({ record, isSame }) => (isSame ? [record.child.pid] : [])));
    const [recorded, marked] = await Promise.all([
      Promise.all(records.map((each) => this.#sweepRecorded(each))),
      sweepMarked(this.#stateDir, recordedPids),
    ]);
    return [...recorded.filter((each) => each !== undefined), ...marked];
  }

  /**
   * Terminates the recorded child and its container, and removes the record, but keeps the record of a child
   * or container that resists. Returns the terminated child.
   */
  async #sweepRecorded({ path, record, isSame }: DeadRecord): Promise<SweptChild | undefined> {
    const { child, server } = record;
    const swept = isSame ? await this.#endGroup(record) : undefined;
    const isContainerGone = await this.#endContainer(record);
    if (swept === undefined && child.startTime === undefined && isAlive(child))
      this.#onWarning(
        `process ${child.pid} may be an orphan of server ${server}; this system cannot prove it, so it was not terminated`,
      );
    if (swept === 'resists')
      this.#onWarning(
        `process group ${child.pid} of server ${server} is an orphan and could not be terminated`,
      );
    else if (isContainerGone) this.#removeFile(path);
    return swept === 'resists' ? undefined : swept;
  }

  /** Returns false if the container may still run. */
  async #endContainer({ container, server }: ChildRecord): Promise<boolean> {
    if (container === undefined) return true;
    try {
      if (await endContainer(container, AbortSignal.timeout(CONTAINER_MS)))
        this.#onWarning(
          `the container of server ${server} was an orphan of an earlier gateway and was ended`,
        );
      return true;
    } catch (error) {
      this.#warn(`the container of server ${server} is an orphan and could not be ended`, error);
      return false;
    }
  }

  async #endGroup({ child, server }: ChildRecord): Promise<SweptChild | 'resists'> {
    const { pid } = child;
    signalGroup(pid, 'SIGTERM');
    if (await waitForGroupEnd(pid, TERM_GRACE_MS)) return { pid, server, wasKilled: false };
    if (isSameGroup(child)) signalGroup(pid, 'SIGKILL');
    return (await waitForGroupEnd(pid, KILL_GRACE_MS)) ? { pid, server, wasKilled: true } : 'resists';
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
        this.#warn(`could not sweep ${this.#folder}`, error);
      return [];
    }
  }

  #read(path: string): ChildRecord | undefined {
    try {
      const record = parseRecord(readFileSync(path, 'utf8'));
      if (record !== undefined) return record;
      this.#onWarning(`the damaged record ${path} was removed; its process may still run`);
      this.#removeFile(path);
    } catch (error) {
      // Possibly removed by the owner or a concurrent sweep.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#warn(`could not read ${path}`, error);
    }
    return undefined;
  }

  #removeFile(path: string): void {
    try {
      rmSync(path, { force: true });
    } catch (error) {
      this.#warn(`could not remove ${path}`, error);
    }
  }

  #warn(message: string, error: unknown): void {
    this.#onWarning(`${message}: ${(error as Error).message}`);
  }
}

/**
 * Returns whether the process group certainly belongs to the child. If the child itself exists, the start
 * time decides. If only other members of the group exist, the group belongs to the child if all of them are
 * in the session of the child and started later, in the same boot.
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
