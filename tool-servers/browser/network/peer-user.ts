// Who is at the other end of a loopback connection. The browser cannot be given a password for its proxy without every
// request passing an interception, so the kernel is asked instead: only connections of the user the browser runs as are
// served. Linux only; elsewhere the proxy's port is open to whoever is logged in on the machine.

import { readFile } from 'node:fs/promises';
import { endianness } from 'node:os';

const LOOPBACK = endianness() === 'LE' ? '0100007F' : '7F000001';
const ESTABLISHED = '01';

/**
 * The user id of the process that connected from `peerPort` to `ownPort`, both on 127.0.0.1; undefined when the kernel
 * does not know such a connection (any more).
 * @throws the system error where there is no such table
 */
export async function peerUser(ownPort: number, peerPort: number): Promise<number | undefined> {
  const table = await readFile('/proc/net/tcp', 'latin1');
  const ends = `${LOOPBACK}:${hex(peerPort)} ${LOOPBACK}:${hex(ownPort)} ${ESTABLISHED} `;
  const at = table.indexOf(ends);
  if (at === -1) return undefined;
  // After the state: queues, timer, retransmits, then the user.
  const user = table
    .slice(at + ends.length)
    .trimStart()
    .split(/\s+/, 4)[3];
  return user === undefined ? undefined : Number(user);
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}
