// Identifies the bots of an app's triggers, which also checks their tokens.
//
// A failed identity request does not prevent the connection; it is repeated while the connection is open. A
// refused token fails only the triggers that use it. If every token is refused, the connection fails.

import type { ChatWorkspaceTrigger, Trigger } from '../../../config/resources/triggers/trigger.ts';
import { TriggersRefusedError } from '../connections/connector.ts';
import type { WorkspaceBot } from './bot.ts';
import { connectionErrorOf, isTokenRefused } from './errors.ts';

type BotOf = (trigger: ChatWorkspaceTrigger) => WorkspaceBot;

/** Identifies the bots before the connect. Rejects with a ConnectionError only if every token is refused. */
export async function identifyFirst(
  triggers: readonly ChatWorkspaceTrigger[],
  botOf: BotOf,
  signal: AbortSignal,
): Promise<void> {
  const failures = await failuresOf(triggers, botOf, signal);
  signal.throwIfAborted();
  const refusals = [...failures.values()].filter(isTokenRefused);
  const [first] = refusals;
  if (first !== undefined && refusals.length === triggers.length) throw connectionErrorOf(first);
}

/**
 * Identifies the bots of an open connection. Rejects with a TriggersRefusedError if tokens are refused,
 * otherwise with the first failure.
 */
export async function identifyBots(
  triggers: readonly ChatWorkspaceTrigger[],
  botOf: BotOf,
  signal: AbortSignal,
): Promise<void> {
  const failures = await failuresOf(triggers, botOf, signal);
  const refusals = [...failures].flatMap(([trigger, error]): readonly [Trigger, string][] =>
    isTokenRefused(error) ? [[trigger, error.message]] : [],
  );
  if (refusals.length > 0) throw new TriggersRefusedError(new Map(refusals));
  for (const error of failures.values()) throw connectionErrorOf(error);
}

async function failuresOf(
  triggers: readonly ChatWorkspaceTrigger[],
  botOf: BotOf,
  signal: AbortSignal,
): Promise<ReadonlyMap<ChatWorkspaceTrigger, unknown>> {
  const failures = new Map<ChatWorkspaceTrigger, unknown>();
  await Promise.all(
    triggers.map(async (trigger) => {
      const bot = botOf(trigger);
      try {
        await bot.load();
        await bot.identify(signal);
      } catch (error) {
        failures.set(trigger, error);
      }
    }),
  );
  return failures;
}
