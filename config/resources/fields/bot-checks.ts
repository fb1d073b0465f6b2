// Bots that several triggers share: a bot has one way to get its updates, and one menu; and of an update that is sent only the
// secret says whose it is.

import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { ReadOfType } from '../triggers/trigger-type.ts';
import { warnOfTwoCredentials } from './one-credential.ts';

/** What the platform's menu of commands holds. */
export const botMenu = { maxCommands: 100, maxDescription: 256 } as const;

/** Fields that identify a bot and its source of updates. */
interface BotConfig {
  readonly bot_token: string;
  readonly api_root: string;
  readonly mode: 'polling' | 'webhook';
  readonly path: string;
  readonly secret_token?: string | undefined;
  readonly webhook_url?: string | undefined;
}

type OfBot = ReadOfType<BotConfig>;
type BotTrigger = TriggerOf<string, BotConfig>;

/** Reports what only stands out beside other triggers of the type. */
export function checkBots(all: readonly OfBot[]): void {
  warnOfTwoCredentials(all, 'bot_token', ({ bot_token, api_root }) =>
    JSON.stringify([bot_token.split(':')[0], api_root]),
  );
  const enabled = all.filter(({ trigger }) => trigger.enabled);
  for (const [index, each] of enabled.entries()) {
    const earlier = enabled.slice(0, index).map(({ trigger }) => trigger);
    const ofBot = earlier.filter((other) => isSameBot(other, each.trigger));
    checkWay(each, ofBot[0]);
    checkSecret(
      each,
      earlier.find((other) => isSameDoor(other, each.trigger) && !isSameBot(other, each.trigger)),
    );
    checkMenu(each, ofBot);
  }
}

function checkWay({ reader, trigger: { config } }: OfBot, other: BotTrigger | undefined): void {
  if (other === undefined) return;
  const differing = (['mode', 'api_root', 'secret_token', 'webhook_url'] as const).find(
    (field) => config[field] !== other.config[field],
  );
  if (differing === undefined) return;
  const at = reader.has(`spec.config.${differing}`) ? `spec.config.${differing}` : 'spec.config';
  reader.report(
    at,
    `trigger ${other.name} has the same bot and another ${differing}; a bot gets its updates in one way only`,
  );
}

function checkSecret({ reader }: OfBot, other: BotTrigger | undefined): void {
  if (other === undefined) return;
  const at = reader.has('spec.config.secret_token') ? 'spec.config.secret_token' : 'spec.config';
  reader.report(
    at,
    `trigger ${other.name} has the same secret_token on this path for another bot; nothing would say whose an update is`,
  );
}

function checkMenu({ reader, trigger: { commands } }: OfBot, others: readonly BotTrigger[]): void {
  const most = botMenu.maxCommands;
  const before = new Set(others.flatMap((each) => each.commands.map(({ command }) => command)));
  const all = new Set([...before, ...commands.map(({ command }) => command)]);
  if (before.size <= most && all.size > most && others.length > 0)
    reader.report(
      'spec.commands',
      `with those of the other triggers of this bot these are ${all.size} commands, and its menu takes ${most}`,
    );
}

function isSameBot({ config: a }: BotTrigger, { config: b }: BotTrigger): boolean {
  return a.bot_token === b.bot_token;
}

function isSameDoor({ config: a }: BotTrigger, { config: b }: BotTrigger): boolean {
  const areSent = a.mode === 'webhook' && b.mode === 'webhook';
  return areSent && a.path === b.path && a.secret_token === b.secret_token;
}
