// Record of a running child process, in a small file. If this gateway is killed, a later gateway identifies
// the child by the record and terminates it.

import { type Container, parseContainer } from './container.ts';
import type { ProcessIdentity } from './process-identity.ts';

export interface ChildRecord {
  /** Child process, which leads the process group of the same number. */
  readonly child: ProcessIdentity;
  readonly server: string;
  readonly owner: ProcessIdentity;
  /** Container that the child runs, as the client of an engine. */
  readonly container?: Container | undefined;
}

export function recordText({ child, server, owner, container }: ChildRecord): string {
  const text = {
    server,
    pid: child.pid,
    start_time: child.startTime,
    group: child.pid,
    owner_pid: owner.pid,
    owner_start_time: owner.startTime,
    container,
  };
  return `${JSON.stringify(text)}\n`;
}

/** Parses a record; undefined for an invalid text. A damaged number must not select a process. */
export function parseRecord(text: string): ChildRecord | undefined {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  if (typeof fields !== 'object' || fields === null) return undefined;
  const child = identity(fields.pid, fields.start_time);
  const owner = identity(fields.owner_pid, fields.owner_start_time);
  const { server, group } = fields;
  if (child === undefined || child.pid < 2 || group !== child.pid || owner === undefined) return undefined;
  if (typeof server !== 'string') return undefined;
  return { child, server, owner, container: parseContainer(fields.container) };
}

function identity(pid: unknown, startTime: unknown): ProcessIdentity | undefined {
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 1) return undefined;
  if (startTime !== undefined && typeof startTime !== 'string') return undefined;
  return { pid, startTime };
}
