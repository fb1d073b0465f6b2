// Greeting for a conversation that a bot joins (`InboundEvent.isArrival`): the trigger's `welcome`, or for
// trigger types that always greet, a list of the available commands.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';

/** Limit of listed commands. */
const MAX_LISTED = 40;

/** Returns the greeting, possibly empty; undefined if the trigger does not handle arrivals. */
export function welcomeOf(trigger: Trigger): string | undefined {
  if (trigger.welcome !== undefined) return trigger.welcome;
  return triggerTypes[trigger.type].welcome === 'always' ? greeting(trigger) : undefined;
}

/** Returns a greeting with the list of commands. */
export function greeting({ commands, default_target }: Pick<Trigger, 'commands' | 'default_target'>): string {
  const hints = default_target === undefined ? [] : ['Write a message to get an answer.'];
  if (commands.length === 0) return ['Hello!', ...hints].join(' ');
  const commandLines = commands
    .slice(0, MAX_LISTED)
    .map(({ command, description }) =>
      description === undefined ? `- /${command}` : `- /${command}: ${description}`,
    );
  const more = commands.length - commandLines.length;
  return [
    'Hello! Available commands:',
    ...commandLines,
    ...(more > 0 ? [`- and ${more} more`] : []),
    ...hints,
  ].join('\n');
}
