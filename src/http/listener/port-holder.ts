// Finds the process that listens on a local port, for the error message about a port in use. Works only on
// Linux (/proc), and only for processes of the same user.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** State "LISTEN" in /proc/net/tcp (Linux, include/net/tcp_states.h). */
const LISTEN = '0A';

/** Returns the id of the process; undefined if unknown. */
export function portHolder(port: number): number | undefined {
  try {
    const inodes = new Set(
      ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => listeningInodes(table, port)),
    );
    if (inodes.size === 0) return undefined;
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const holder = pids.find((pid) => hasSocket(pid, inodes));
    return holder === undefined ? undefined : Number(holder);
  } catch {
    return undefined;
  }
}

function listeningInodes(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync(table, 'utf8')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(suffix) === true && fields[3] === LISTEN)
    .flatMap((fields) => fields[9] ?? []);
}

function hasSocket(pid: string, inodes: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1];
      return inode !== undefined && inodes.has(inode);
    });
  } catch {
    // The process has exited or belongs to another user.
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
