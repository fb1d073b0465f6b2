// Reads /proc/<pid>/stat (proc(5)). macOS and Windows have no /proc: the functions return undefined there.

import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessStat {
  /** One letter; Z is a zombie: exited but not reaped. */
  readonly state: string;
  readonly group: number;
  readonly session: number;
  /** Clock ticks from boot to the start of the process. */
  readonly startTicks: string;
}

/** Returns undefined if the process does not exist or is hidden, or without /proc. */
export function statOf(pid: number): ProcessStat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The second field is the program name in parentheses; it may contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, , group, session] = fields;
  // Field 22 of the file; `fields` begins with field 3.
  const startTicks = fields[19];
  if (state === undefined || startTicks === undefined) return undefined;
  return { state, group: Number(group), session: Number(session), startTicks };
}

export function isZombie(stat: ProcessStat): boolean {
  return stat.state === 'Z' || stat.state === 'X';
}

/** Returns the group's processes without zombies; undefined without /proc. */
export function membersOf(group: number): { pid: number; stat: ProcessStat }[] | undefined {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return undefined;
  }
  if (!names.includes('self')) return undefined;
  return names.flatMap((name) => {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : undefined;
    return stat === undefined || stat.group !== group || isZombie(stat) ? [] : [{ pid: Number(name), stat }];
  });
}
