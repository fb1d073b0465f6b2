// Checks the command menu of a CommunityChat application. The triggers of an application share its menu, and
// the platform refuses a whole menu that exceeds a limit.

import { joinPath } from '../../reader/field-path.ts';
import type { Binding } from '../triggers/binding.ts';
import type { TriggerWithReader } from '../triggers/trigger-type.ts';

/** Limits of the platform. `hasGuilds`: a guild (a server of the platform) can have a separate menu. */
export const chatMenu = { maxCommands: 100, maxDescription: 100, hasGuilds: true } as const;
const MAX_PARAMETERS = 25;
const PARAMETER = /^[-_a-z0-9]{1,32}$/;
/** Built-in commands, listed in the menu in addition to the commands of the triggers. */
const BUILT_IN = ['agent', 'task', 'fleet', 'flow'];

/**
 * `application_id` and `api_root` identify the application. Its commands are counted together, also if its
 * guilds have separate menus. With `register: never` the trigger is not in a menu.
 */
interface MenuConfig {
  readonly application_id: string;
  readonly api_root: string;
  readonly register: string;
}

type TriggerWithMenu = TriggerWithReader<MenuConfig>;

/** Reports menus that the platform would refuse. */
export function checkMenus(all: readonly TriggerWithMenu[]): void {
  /** Names of the commands of each application, so far. */
  const namesByApplication = new Map<string, Set<string>>();
  for (const { reader, trigger } of all) {
    const { commands, config, enabled } = trigger;
    if (!enabled) continue;
    for (const binding of commands) checkCommand(reader, binding);
    if (config.register === 'never') continue;
    const application = JSON.stringify([config.application_id, config.api_root]);
    const names = namesByApplication.get(application) ?? new Set(BUILT_IN);
    const wasExceeded = names.size > chatMenu.maxCommands;
    for (const { command } of commands) names.add(command);
    namesByApplication.set(application, names);
    // Only the trigger that exceeds the limit is reported.
    if (!wasExceeded && names.size > chatMenu.maxCommands)
      reader.report(
        'spec.commands',
        `all triggers of this application together, with ${BUILT_IN.join(', ')}, have ${names.size} commands; the platform allows ${chatMenu.maxCommands}`,
      );
  }
}

/** Reports parameters that the platform would refuse. */
function checkCommand(reader: TriggerWithMenu['reader'], { command, parameters }: Binding): void {
  const written = joinPath('spec.commands', `/${command}`);
  const path = reader.has(written) ? written : joinPath('spec.commands', command);
  const list = joinPath(path, 'parameters');
  if (parameters.length > MAX_PARAMETERS)
    reader.report(list, `has ${parameters.length} parameters; the platform allows ${MAX_PARAMETERS}`);
  for (const [index, parameter] of parameters.entries()) {
    const parameterPath = joinPath(list, index);
    if (!PARAMETER.test(parameter.name))
      reader.report(
        joinPath(parameterPath, 'name'),
        'the platform allows only names of 1 to 32 characters a-z 0-9 - _',
      );
    const { length } = parameter.description ?? '';
    if (length > chatMenu.maxDescription)
      reader.report(
        joinPath(parameterPath, 'description'),
        `has ${length} characters; the platform's menu allows ${chatMenu.maxDescription}`,
      );
  }
}
