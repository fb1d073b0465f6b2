// A mark in the environment of every child, which whatever it starts inherits: whose it is, and which child. Records are
// written after a process has been started, and know its group only; the mark is there from the first moment, and stays with
// those who leave the group, such as browsers and daemons (A5). Where there is no /proc nobody could read it: no mark then.
//
// OM1  a mark names its child for ever: its token is random, and its owner is named by pid, start time and pid namespace, so
//     that nobody elsewhere (in a container, say) is taken for a dead owner.
// OM2  the mark of a gateway that is itself a child of one is put in front of the mark it has; its children carry both. So
//     they are found by the outer one, too, and a gateway finds all below it by its own mark.

import { createHash, randomBytes } from 'node:crypto';
import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { identityOf, isAlive, type ProcessIdentity } from './process-identity.ts';

export const MARK_VARIABLE = 'ACTOR_GATEWAY_OWNER';

/** Gateways within gateways: of the marks beyond this many characters the outermost are left out. */
const MAX_CHARS = 2_000;

const onePattern = /^([0-9a-f]{16}|-):([0-9]+):([^:]+):([0-9]*):([0-9a-f]{16}):([^:]+)$/;

export interface OwnerMark {
  /** Digest of the owner's state folder; `-` where it keeps nothing. */
  readonly folder: string;
  readonly owner: ProcessIdentity;
  readonly namespace: string;
  /** Of the one child. */
  readonly token: string;
  readonly server: string;
}

/** What names a state folder in marks: its real path, so that copies of the folder differ. */
export function markOfFolder(stateDir: string): string {
  return createHash('sha256')
    .update(realPath(resolve(stateDir)))
    .digest('hex')
    .slice(0, 16);
}

/** The variable's value for a new child; undefined where nobody could read it. `inherited` is our own value of it. */
export function newMark(folder: string, server: string, inherited = ''): string | undefined {
  const { pid, startTime } = identityOf(process.pid);
  if (startTime === undefined) return undefined;
  const token = randomBytes(8).toString('hex');
  const marks = [`${folder}:${pid}:${startTime}:${ownNamespace()}:${token}:${server}`];
  let left = MAX_CHARS;
  for (const mark of inherited.split(' ')) {
    left -= mark.length;
    if (left < 0) break;
    if (onePattern.test(mark)) marks.push(mark);
  }
  return marks.join(' ');
}

/** The marks in a value of the variable, the nearest first; what is no mark is left out. */
export function parseMarks(value: string): OwnerMark[] {
  return value.split(' ').flatMap((text) => {
    const [, folder, pid, startTime, namespace, token, server] = onePattern.exec(text) ?? [];
    if (folder === undefined || namespace === undefined || token === undefined || server === undefined)
      return [];
    return [{ folder, owner: { pid: Number(pid), startTime }, namespace, token, server }];
  });
}

/** Whether this is a mark of a gateway with this state folder that does not live any more. */
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

/** Of a path whose last parts may not be there yet. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(realPath(above), basename(path));
  }
}
