// The bots of the triggers that use one app: each of them is asked for who it is, which tells whether its token is one.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { SourceHost } from '../adapter.ts';
import { connectionErrorOf } from './chatworkspace-errors.ts';
import type { WorkspaceBot } from './workspace-account.ts';

type BotOf = (trigger: ChatWorkspaceTrigger) => WorkspaceBot;

/** Rejects with a ConnectionError where not one of them is accepted; of others that are not the log tells. */
export async function identifyBots(
  triggers: readonly ChatWorkspaceTrigger[],
  botOf: BotOf,
  { store, log }: SourceHost,
  signal: AbortSignal,
): Promise<void> {
  const asked = triggers.map(async (trigger) => {
    const bot = botOf(trigger);
    await bot.load(store);
    await bot.identify(store, signal);
  });
  const results = await Promise.allSettled(asked);
  const failures = results.flatMap((result, index) =>
    result.status === 'rejected' ? [{ trigger: triggers[index]?.name, error: result.reason as unknown }] : [],
  );
  const [first] = failures;
  if (first === undefined) return;
  if (failures.length === triggers.length) throw connectionErrorOf(first.error);
  for (const { trigger, error } of failures)
    log.warn(
      { trigger, reason: error instanceof Error ? error.message : String(error) },
      'the bot of a trigger was not accepted by the platform',
    );
}
