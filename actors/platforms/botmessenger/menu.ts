// The platform's menu of commands, of which a bot has one: the commands of all its triggers together.

import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { MenuCommand } from '../adapter.ts';

/** Of the platform. */
const MAX_COMMANDS = 100;

/** In the order of the triggers and of their files; of two of one name the first, and of those one that says what it does. */
export function menuOf(triggers: readonly BotMessengerTrigger[]): readonly MenuCommand[] {
  const menu = new Map<string, string | undefined>();
  for (const { commands } of triggers)
    for (const { command, description } of commands)
      menu.set(command, menu.get(command) ?? (description?.trim() || undefined));
  return [...menu]
    .slice(0, MAX_COMMANDS)
    .map(([command, description]) => ({ command, description: description ?? command }));
}
