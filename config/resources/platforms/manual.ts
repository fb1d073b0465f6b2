// What a trigger of type Manual may say in spec.config: runs that somebody starts by hand.

import * as Type from 'typebox';
import { joinPath } from '../../reader/field-path.ts';
import { suggest } from '../../reader/suggest.ts';
import type { Filled } from '../fields/filled.ts';
import type { ReadOfType, TriggerType } from '../triggers/trigger-type.ts';

const manualConfigSchema = Type.Object(
  {
    require_confirmation: Type.Boolean({ description: 'Ask before each run.', default: false }),
    allowed_commands: Type.Array(Type.String({ minLength: 1 }), {
      description: 'Commands that may be run; none = all.',
      default: [],
      maxItems: 1000,
    }),
    timeout: Type.Optional(
      Type.Integer({ description: 'Seconds that a run may take.', minimum: 1, maximum: 2_147_483 }),
    ),
  },
  { description: 'Runs started by hand.' },
);

/** Filled; commands come without leading slashes. */
export type ManualConfig = Filled<Type.Static<typeof manualConfigSchema>>;

export const manualType: TriggerType<ManualConfig> = {
  config: manualConfigSchema,
  byHand: {
    requiresConfirmation: ({ require_confirmation }) => require_confirmation,
    timeLimit: ({ timeout }) => (timeout === undefined ? undefined : { seconds: timeout, field: 'timeout' }),
  },
  wayIn: ({ name }) => ({ text: `by hand: triggers run ${name}` }),
  checkAll(all) {
    for (const each of all) checkAllowedCommands(each);
  },
  complete(config) {
    return { ...config, allowed_commands: config.allowed_commands.map((name) => name.replace(/^\//, '')) };
  },
};

/** What a default agent is there to take may have any name. */
function checkAllowedCommands({ reader, trigger }: ReadOfType<ManualConfig>): void {
  const path = 'spec.config.allowed_commands';
  // One list for all triggers, in the settings of the platform, may name more than each of them has.
  if (trigger.default_target !== undefined || !reader.has(path)) return;
  const commands = trigger.commands.map(({ command }) => command);
  for (const [index, name] of trigger.config.allowed_commands.entries()) {
    if (commands.includes(name)) continue;
    const near = suggest(name, commands);
    const advice = near === undefined ? '' : `; did you mean ${near}?`;
    reader.report(joinPath(path, index), `there is no command ${name}${advice}`, 'warning');
  }
}
