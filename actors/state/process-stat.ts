// What the kernel says about a process, from /proc/<pid>/stat (proc(5)). There is no /proc on macOS and Windows:
// then nothing is known, and whoever asks must do without.

import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessStat {
  /** One letter; Z is a zombie: ended, and only its exit status is left. */
  readonly state: string;
  readonly group: number;
  readonly session: number;
  /** Clock ticks between the boot of the machine and the start of the process. */
  readonly startTicks: string;
}

/** Undefined when there is no such process, when it is hidden from us, or when there is no /proc. */
export function statOf(pid: number): ProcessStat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The second field is the program's name in parentheses; it may hold spaces and parentheses itself.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, , group, session] = fields;
  const startTicks = fields[19];
  if (state === undefined || startTicks === undefined) return undefined;
  return { state, group: Number(group), session: Number(session), startTicks };
}

export function isZombie(stat: ProcessStat): boolean {
  return stat.state === 'Z' || stat.state === 'X';
}

/** Processes of a group, zombies left out. Undefined where there is no /proc. */
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
