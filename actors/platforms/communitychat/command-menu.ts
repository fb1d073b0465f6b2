// The commands that the platform shows, with the built-in ones beside those of the files: everywhere, or on single servers. Whoever
// puts a menu puts all of it.

import type { Binding } from '../../../config/resources/triggers/binding.ts';
import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { builtInCommands } from '../../events/built-in-commands.ts';

interface MenuOption {
  readonly type: 3;
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly choices?: readonly { readonly name: string; readonly value: string }[];
}

export interface CommunityCommand {
  readonly type: 1;
  readonly name: string;
  readonly description: string;
  readonly options: readonly MenuOption[];
}

type Triggers = readonly CommunityChatTrigger[];

/** Everywhere. */
export const GLOBAL = '';

/** By server, or GLOBAL. The built-in ones stand in each server only where nothing is shown everywhere. */
export function menusOf(triggers: Triggers): ReadonlyMap<string, readonly CommunityCommand[]> {
  const menus = new Map<string, readonly CommunityCommand[]>();
  const everywhere = triggers.filter(({ config }) => config.register === 'global');
  const single = triggers.filter(({ config }) => config.register === 'guilds');
  if (everywhere.length > 0) menus.set(GLOBAL, menuOf(everywhere));
  for (const guild of new Set(single.flatMap(({ config }) => config.guild_ids))) {
    const ofGuild = single.filter(({ config }) => config.guild_ids.includes(guild));
    menus.set(guild, menuOf(ofGuild, { hasBuiltIns: everywhere.length === 0 }));
  }
  return menus;
}

/** Each command once, wherever it is shown. */
export function linesOf(
  menus: ReadonlyMap<string, readonly CommunityCommand[]>,
): readonly CommunityCommand[] {
  const lines = new Map<string, CommunityCommand>();
  for (const command of [...menus.values()].flat())
    if (!lines.has(command.name)) lines.set(command.name, command);
  return [...lines.values()];
}

/** In the order of the triggers and of their files; of two of one name the first, and of their descriptions the first that says something. */
export function menuOf(triggers: Triggers, { hasBuiltIns = true } = {}): readonly CommunityCommand[] {
  const menu = new Map<string, CommunityCommand>();
  for (const binding of triggers.flatMap(({ commands }) => commands)) {
    const before = menu.get(binding.command);
    const description = wordsOf(binding.description);
    if (before === undefined) menu.set(binding.command, commandOf(binding, description ?? ''));
    else if (before.description === '') menu.set(before.name, { ...before, description: description ?? '' });
  }
  if (hasBuiltIns)
    for (const { name, description, options } of builtInCommands) {
      if (menu.has(name)) continue;
      const own = options.map(({ choices, ...option }): MenuOption => {
        const all = choices?.map((choice) => ({ name: choice, value: choice }));
        return { type: 3, ...option, ...(all && { choices: all }) };
      });
      menu.set(name, { type: 1, name, description, options: own });
    }
  return [...menu.values()].map((command) => ({
    ...command,
    description: command.description || command.name,
  }));
}

function commandOf({ command, parameters }: Binding, description: string): CommunityCommand {
  const options = parameters.map(
    ({ name, description: words, required }): MenuOption => ({
      type: 3,
      name,
      description: wordsOf(words) ?? name,
      required,
    }),
  );
  // The platform wants the required ones first.
  const sorted = options.toSorted((a, b) => Number(b.required) - Number(a.required));
  return { type: 1, name: command, description, options: sorted };
}

function wordsOf(text: string | undefined): string | undefined {
  const words = text?.trim() ?? '';
  return words === '' ? undefined : words;
}
