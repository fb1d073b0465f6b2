// Checks BotMessenger triggers that share a bot. A bot receives its updates (messages) in a single way, by
// polling or by a webhook, and has a single menu. In webhook requests, only the secret identifies the bot.

import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { TriggerWithReader } from '../triggers/trigger-type.ts';
import { warnOfTwoCredentials } from './one-credential.ts';

/** Limits of the platform's command menu. */
export const botMenu = { maxCommands: 100, maxDescription: 256 } as const;

/** Fields that identify a bot and the source of updates. */
interface BotConfig {
  readonly bot_token: string;
  readonly api_root: string;
  /** Source of updates: the gateway polls, or the platform sends requests. */
  readonly mode: 'polling' | 'webhook';
  readonly path: string;
  readonly secret_token?: string | undefined;
  readonly webhook_url?: string | undefined;
}

type CheckedTrigger = TriggerWithReader<BotConfig>;
type BotTrigger = TriggerOf<string, BotConfig>;

/** Reports conflicts between BotMessenger triggers. */
export function checkBots(all: readonly CheckedTrigger[]): void {
  // Warns of different tokens for one bot: the part before the colon is the id of the bot.
  warnOfTwoCredentials(all, 'bot_token', ({ bot_token, api_root }) =>
    JSON.stringify([bot_token.split(':')[0], api_root]),
  );
  const enabled = all.filter(({ trigger }) => trigger.enabled);
  for (const [index, each] of enabled.entries()) {
    const earlier = enabled.slice(0, index).map(({ trigger }) => trigger);
    const ofSameBot = earlier.filter((other) => isSameBot(other, each.trigger));
    checkDelivery(each, ofSameBot[0]);
    checkSecret(
      each,
      earlier.find((other) => shareWebhook(other, each.trigger) && !isSameBot(other, each.trigger)),
    );
    checkMenu(each, ofSameBot);
  }
}

/** Reports a difference between two triggers of the same bot. */
function checkDelivery({ reader, trigger: { config } }: CheckedTrigger, other: BotTrigger | undefined): void {
  if (other === undefined) return;
  const differing = (['mode', 'api_root', 'secret_token', 'webhook_url'] as const).find(
    (field) => config[field] !== other.config[field],
  );
  if (differing === undefined) return;
  const fieldPath = reader.has(`spec.config.${differing}`) ? `spec.config.${differing}` : 'spec.config';
  reader.report(
    fieldPath,
    `trigger ${other.name} uses the same bot with a different ${differing}; a bot receives its updates in a single way`,
  );
}

/** Reports that another bot has the same webhook path and secret. */
function checkSecret({ reader }: CheckedTrigger, other: BotTrigger | undefined): void {
  if (other === undefined) return;
  const fieldPath = reader.has('spec.config.secret_token') ? 'spec.config.secret_token' : 'spec.config';
  reader.report(
    fieldPath,
    `trigger ${other.name} uses the same secret_token on this path for another bot; updates could not be assigned to a bot`,
  );
}

/** Reports that the triggers of a bot together have too many commands. */
function checkMenu({ reader, trigger: { commands } }: CheckedTrigger, others: readonly BotTrigger[]): void {
  const max = botMenu.maxCommands;
  const earlierNames = new Set(others.flatMap((each) => each.commands.map(({ command }) => command)));
  const allNames = new Set([...earlierNames, ...commands.map(({ command }) => command)]);
  // Only the trigger that exceeds the limit is reported. readBindings checks the commands of one trigger.
  if (earlierNames.size <= max && allNames.size > max && others.length > 0)
    reader.report(
      'spec.commands',
      `all triggers of this bot together have ${allNames.size} commands; its menu allows ${max}`,
    );
}

function isSameBot({ config: a }: BotTrigger, { config: b }: BotTrigger): boolean {
  return a.bot_token === b.bot_token;
}

function shareWebhook({ config: a }: BotTrigger, { config: b }: BotTrigger): boolean {
  const areWebhooks = a.mode === 'webhook' && b.mode === 'webhook';
  return areWebhooks && a.path === b.path && a.secret_token === b.secret_token;
}
