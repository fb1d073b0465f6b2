// Opens and closes a trigger that has both a webhook path and a shared connection. The caller acquires the
// connection first, before any await, so that a reload does not close an active connection. The connection is
// released after the path is closed or could not be opened.

import type { OpenTrigger } from '../adapter.ts';
import type { ConnectionHandle } from '../connections/connector.ts';

/** `listen` opens the path and returns a function that closes it. Rejects if `listen` does. */
export async function openWithConnection(
  connection: ConnectionHandle,
  listen: () => Promise<() => Promise<void>>,
): Promise<OpenTrigger> {
  try {
    const leave = await listen();
    return {
      close: async () => {
        await leave();
        await connection.release();
      },
    };
  } catch (error) {
    await connection.release();
    throw error;
  }
}
