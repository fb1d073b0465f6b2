// Computes the command menus of the platform: configured and built-in commands, globally or per server. The
// platform replaces whole menus only.

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

/** Scope of the global menu. */
export const GLOBAL = '';

/**
 * Returns the menus by server, or GLOBAL. Without a global menu, each server menu contains the built-in
 * commands.
 */
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

/** Returns the commands without duplicates. */
export function commandsIn(
  menus: ReadonlyMap<string, readonly CommunityCommand[]>,
): readonly CommunityCommand[] {
  const lines = new Map<string, CommunityCommand>();
  for (const command of [...menus.values()].flat())
    if (!lines.has(command.name)) lines.set(command.name, command);
  return [...lines.values()];
}

/**
 * Returns the commands in the order of the triggers and their files. For duplicate names the first command
 * and the first description apply.
 */
export function menuOf(triggers: Triggers, { hasBuiltIns = true } = {}): readonly CommunityCommand[] {
  const menu = new Map<string, CommunityCommand>();
  for (const binding of triggers.flatMap(({ commands }) => commands)) {
    const existing = menu.get(binding.command);
    const description = trimmedText(binding.description);
    if (existing === undefined) menu.set(binding.command, commandOf(binding, description ?? ''));
    else if (existing.description === '')
      menu.set(existing.name, { ...existing, description: description ?? '' });
  }
  if (hasBuiltIns)
    for (const { name, description, options } of builtInCommands) {
      if (menu.has(name)) continue;
      const builtInOptions = options.map(({ choices, ...option }): MenuOption => {
        const all = choices?.map((choice) => ({ name: choice, value: choice }));
        return { type: 3, ...option, ...(all && { choices: all }) };
      });
      menu.set(name, { type: 1, name, description, options: builtInOptions });
    }
  return [...menu.values()].map((command) => ({
    ...command,
    description: command.description || command.name,
  }));
}

function commandOf({ command, parameters }: Binding, description: string): CommunityCommand {
  const options = parameters.map(
    ({ name, description: text, required }): MenuOption => ({
      type: 3,
      name,
      description: trimmedText(text) ?? name,
      required,
    }),
  );
  // The platform requires the required options first.
  const sortedOptions = options.toSorted((a, b) => Number(b.required) - Number(a.required));
  return { type: 1, name: command, description, options: sortedOptions };
}

function trimmedText(text: string | undefined): string | undefined {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' ? undefined : trimmed;
}
