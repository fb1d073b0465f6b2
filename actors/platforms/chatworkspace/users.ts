// The bots of the triggers that use one app: each of them is asked for who it is, which tells whether its token is one.
//
// WSU1  who does not answer that, or does not know the question, keeps nobody from being connected: it is asked again while the
//       connection lasts.
// WSU2  a token that the platform refuses is the failure of its triggers alone, and of the connection where there is no other.

import type { ChatWorkspaceTrigger, Trigger } from '../../../config/resources/triggers/trigger.ts';
import { UsersRefusedError } from '../connections/connector.ts';
import type { WorkspaceBot } from './bot.ts';
import { connectionErrorOf, isTokenRefused } from './errors.ts';

type BotOf = (trigger: ChatWorkspaceTrigger) => WorkspaceBot;

/** Before they are connected. Rejects with a ConnectionError where not one of their tokens is accepted, and for nothing else. */
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

/** While they are connected. Rejects with a UsersRefusedError, or with what somebody else failed with. */
export async function identifyBots(
  triggers: readonly ChatWorkspaceTrigger[],
  botOf: BotOf,
  signal: AbortSignal,
): Promise<void> {
  const failures = await failuresOf(triggers, botOf, signal);
  const refused = [...failures].flatMap(([trigger, error]): readonly [Trigger, string][] =>
    isTokenRefused(error) ? [[trigger, error.message]] : [],
  );
  if (refused.length > 0) throw new UsersRefusedError(new Map(refused));
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
