// Computes a bot's command menu: the commands of all its triggers.

import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { MenuCommand } from '../adapter.ts';

/** Maximum menu length at the platform. */
const MAX_COMMANDS = 100;

/**
 * Returns the commands in the order of the triggers and their files. For duplicate names the first
 * description applies.
 */
export function menuOf(triggers: readonly BotMessengerTrigger[]): readonly MenuCommand[] {
  const menu = new Map<string, string | undefined>();
  for (const { commands } of triggers)
    for (const { command, description } of commands)
      menu.set(command, menu.get(command) ?? (description?.trim() || undefined));
  return [...menu]
    .slice(0, MAX_COMMANDS)
    .map(([command, description]) => ({ command, description: description ?? command }));
}
