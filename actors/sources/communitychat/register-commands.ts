// Registration of commands at the word of a person in a terminal, whatever the platform shows already.

import { setTimeout as pause } from 'node:timers/promises';
import { DeliveryError } from '../../outbound/delivery-error.ts';
import type { CommunityChatApi } from './communitychat-api.ts';

/** No terminal waits longer for its turn. */
const LONGEST_WAIT_MS = 60_000;
/** The bucket is known to be used up until a little later. */
const SPARE_MS = 50;

/** Puts commands, and where the platform asks to come later does that once. Rejects with a DeliveryError. */
export async function registerNow(
  api: CommunityChatApi,
  guild: string | undefined,
  commands: readonly object[],
  signal: AbortSignal,
): Promise<void> {
  try {
    await api.putCommands(guild, commands, signal);
  } catch (error) {
    if (!(error instanceof DeliveryError) || !error.isTooSoon) throw error;
    const { retryAfterMs = LONGEST_WAIT_MS } = error;
    if (retryAfterMs > LONGEST_WAIT_MS) throw error;
    await pause(retryAfterMs + SPARE_MS, undefined, { signal });
    await api.putCommands(guild, commands, signal);
  }
}
