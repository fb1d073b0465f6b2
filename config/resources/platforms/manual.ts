// Schema and checks of manual triggers, which an operator runs by a command or an HTTP request.

import * as Type from 'typebox';
import { joinPath } from '../../reader/field-path.ts';
import { suggest } from '../../reader/suggest.ts';
import type { Filled } from '../fields/with-defaults.ts';
import type { TriggerType, TriggerWithReader } from '../triggers/trigger-type.ts';

const manualConfigSchema = Type.Object(
  {
    require_confirmation: Type.Boolean({
      description: 'Require a confirmation for each run.',
      default: false,
    }),
    allowed_commands: Type.Array(Type.String({ minLength: 1 }), {
      description: 'Commands that may be run; empty = all.',
      default: [],
      maxItems: 1000,
    }),
    timeout: Type.Optional(
      Type.Integer({ description: 'Maximum duration of a run, in seconds.', minimum: 1, maximum: 2_147_483 }),
    ),
  },
  { description: 'Manually started runs.' },
);

/** Config with defaults; commands have no leading slash. */
export type ManualConfig = Filled<Type.Static<typeof manualConfigSchema>>;

export const manualType: TriggerType<ManualConfig> = {
  config: manualConfigSchema,
  byHand: {
    requiresConfirmation: ({ require_confirmation }) => require_confirmation,
    timeLimit: ({ timeout }) => (timeout === undefined ? undefined : { seconds: timeout, field: 'timeout' }),
  },
  describeSource: ({ name }) => ({ text: `manual: triggers run ${name}` }),
  checkAll(all) {
    for (const each of all) checkAllowedCommands(each);
  },
  complete(config) {
    return { ...config, allowed_commands: config.allowed_commands.map((name) => name.replace(/^\//, '')) };
  },
};

/**
 * Warns of allowed commands that are not keys in `spec.commands`. With a default agent, any name is valid,
 * because this agent gets events with an unknown command.
 */
function checkAllowedCommands({ reader, trigger }: TriggerWithReader<ManualConfig>): void {
  const path = 'spec.config.allowed_commands';
  // A list in the platform settings (gateway.yaml) applies to all triggers and may name further commands.
  if (trigger.default_target !== undefined || !reader.has(path)) return;
  const commands = trigger.commands.map(({ command }) => command);
  for (const [index, name] of trigger.config.allowed_commands.entries()) {
    if (commands.includes(name)) continue;
    const near = suggest(name, commands);
    const advice = near === undefined ? '' : `; did you mean ${near}?`;
    reader.report(joinPath(path, index), `there is no command ${name}${advice}`, 'warning');
  }
}
