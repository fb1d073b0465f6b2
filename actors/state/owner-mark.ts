// Mark: an environment variable of every child process, which names the owner (the gateway) and the child.
// All descendants inherit it. A record (child-records.ts) is written only when the child has started, and
// names only its process group; the mark exists from the start, also in processes that leave the group, such
// as browsers and daemons (A5, ARCHITECTURE.md). Without /proc the mark is omitted, because nothing could
// read it.
//
// The token of a child is random. The owner is named by pid, start time and pid namespace, so an owner in a
// different container is not mistaken for a dead owner. A gateway that is itself a marked child puts a new
// mark in front of the inherited mark. Its children have both, so the outer gateway also finds them.

import { createHash, randomBytes } from 'node:crypto';
import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { identityOf, isAlive, type ProcessIdentity } from './process-identity.ts';

export const MARK_VARIABLE = 'ACTOR_GATEWAY_OWNER';

/** Maximum length of the variable. With nested gateways, the outermost marks are dropped. */
const MAX_CHARS = 2_000;

const markPattern = /^([0-9a-f]{16}|-):([0-9]+):([^:]+):([0-9]*):([0-9a-f]{16}):([^:]+)$/;

export interface OwnerMark {
  /** Digest of the owner's state folder; `-` for none. */
  readonly folder: string;
  readonly owner: ProcessIdentity;
  readonly namespace: string;
  /** Token of the child. */
  readonly token: string;
  readonly server: string;
}

/** Returns the digest of the folder's real path; copies of a folder have different digests. */
export function markOfFolder(stateDir: string): string {
  return createHash('sha256')
    .update(realPath(resolve(stateDir)))
    .digest('hex')
    .slice(0, 16);
}

/** Returns the variable for a new child; undefined without /proc. `inherited` is the gateway's own value. */
export function newMark(folder: string, server: string, inherited = ''): string | undefined {
  const { pid, startTime } = identityOf(process.pid);
  if (startTime === undefined) return undefined;
  const token = randomBytes(8).toString('hex');
  const marks = [`${folder}:${pid}:${startTime}:${ownNamespace()}:${token}:${server}`];
  let remaining = MAX_CHARS;
  for (const mark of inherited.split(' ')) {
    remaining -= mark.length;
    if (remaining < 0) break;
    if (markPattern.test(mark)) marks.push(mark);
  }
  return marks.join(' ');
}

/** Parses the value of the variable, innermost mark first; invalid parts are skipped. */
export function parseMarks(value: string): OwnerMark[] {
  return value.split(' ').flatMap((text) => {
    const [, folder, pid, startTime, namespace, token, server] = markPattern.exec(text) ?? [];
    if (folder === undefined || namespace === undefined || token === undefined || server === undefined)
      return [];
    return [{ folder, owner: { pid: Number(pid), startTime }, namespace, token, server }];
  });
}

/** Returns true if the mark's gateway used the state folder and is dead. */
export function isOrphaned(mark: OwnerMark, folder: string): boolean {
  return mark.folder === folder && mark.namespace === ownNamespace() && !isAlive(mark.owner);
}

let namespace: string | undefined;

function ownNamespace(): string {
  if (namespace === undefined) {
    try {
      namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '';
    } catch {
      namespace = '';
    }
  }
  return namespace;
}

/** Resolves a path. Its last parts may not exist yet. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(realPath(above), basename(path));
  }
}
