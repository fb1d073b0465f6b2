// A trigger to whose path events are sent, and that has a connection of its account besides. The connection is asked for before
// anything is waited for, so that a reload finds it in use; it is left after the path, and also where the path cannot be had.

import type { OpenTrigger } from '../adapter.ts';
import type { UsedConnection } from '../connections/connector.ts';

/** `listen` gives the way to leave the path. Rejects as it does. */
export async function openBoth(
  used: UsedConnection,
  listen: () => Promise<() => Promise<void>>,
): Promise<OpenTrigger> {
  try {
    const leave = await listen();
    return {
      close: async () => {
        await leave();
        await used.release();
      },
    };
  } catch (error) {
    await used.release();
    throw error;
  }
}
