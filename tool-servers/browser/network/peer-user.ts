// Reads which local user opened a loopback connection. The proxy uses it to reject other users; a proxy
// password would require intercepting the browser's requests. Linux only: on other systems, every local user
// can use the proxy.

import { readFile } from 'node:fs/promises';
import { endianness } from 'node:os';

const LOOPBACK = endianness() === 'LE' ? '0100007F' : '7F000001';
const ESTABLISHED = '01';

/**
 * Returns the user id of the process that connected from `peerPort` to `ownPort` on 127.0.0.1; undefined if
 * the connection is unknown.
 * @throws the system error if the table does not exist
 */
export async function peerUser(ownPort: number, peerPort: number): Promise<number | undefined> {
  const table = await readFile('/proc/net/tcp', 'latin1');
  const connection = `${LOOPBACK}:${hex(peerPort)} ${LOOPBACK}:${hex(ownPort)} ${ESTABLISHED} `;
  const at = table.indexOf(connection);
  if (at === -1) return undefined;
  // Fields after the state: queues, timer, retransmits, user.
  const user = table
    .slice(at + connection.length)
    .trimStart()
    .split(/\s+/, 4)[3];
  return user === undefined ? undefined : Number(user);
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}
