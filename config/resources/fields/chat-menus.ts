// The commands that the platform of CommunityChat shows, of all triggers of an application together: it refuses a menu as a whole
// that is beyond one of its limits, so those are checked when files are read.

import { joinPath } from '../../reader/field-path.ts';
import type { Binding } from '../triggers/binding.ts';
import type { ReadOfType } from '../triggers/trigger-type.ts';

/** Of the platform. */
export const chatMenu = { maxCommands: 100, maxDescription: 100, hasGuilds: true } as const;
const MAX_PARAMETERS = 25;
const PARAMETER = /^[-_a-z0-9]{1,32}$/;
/** They stand in the menu beside those of the files. */
const BUILT_IN = ['agent', 'task', 'fleet', 'flow'];

/** Fields that identify a menu. */
interface MenuConfig {
  readonly application_id: string;
  readonly api_root: string;
  readonly register: string;
}

type OfChat = ReadOfType<MenuConfig>;

/** Reports what the platform would refuse. */
export function checkMenus(all: readonly OfChat[]): void {
  const before = new Map<string, Set<string>>();
  for (const { reader, trigger } of all) {
    const { commands, config, enabled } = trigger;
    if (!enabled) continue;
    for (const binding of commands) checkCommand(reader, binding);
    if (config.register === 'never') continue;
    const menu = JSON.stringify([config.application_id, config.api_root]);
    const names = before.get(menu) ?? new Set(BUILT_IN);
    const wasFull = names.size > chatMenu.maxCommands;
    for (const { command } of commands) names.add(command);
    before.set(menu, names);
    if (!wasFull && names.size > chatMenu.maxCommands)
      reader.report(
        'spec.commands',
        `with those of the other triggers of this application, and ${BUILT_IN.join(', ')}, these are ${names.size} commands, and the platform takes ${chatMenu.maxCommands}`,
      );
  }
}

function checkCommand(reader: OfChat['reader'], { command, parameters }: Binding): void {
  const written = joinPath('spec.commands', `/${command}`);
  const path = reader.has(written) ? written : joinPath('spec.commands', command);
  const list = joinPath(path, 'parameters');
  if (parameters.length > MAX_PARAMETERS)
    reader.report(list, `are ${parameters.length} parameters, and the platform takes ${MAX_PARAMETERS}`);
  for (const [index, parameter] of parameters.entries()) {
    const at = joinPath(list, index);
    if (!PARAMETER.test(parameter.name))
      reader.report(joinPath(at, 'name'), 'the platform takes names of 1 to 32 of a-z 0-9 - _ only');
    const { length } = parameter.description ?? '';
    if (length > chatMenu.maxDescription)
      reader.report(
        joinPath(at, 'description'),
        `has ${length} characters, and the platform's menu takes ${chatMenu.maxDescription}`,
      );
  }
}
