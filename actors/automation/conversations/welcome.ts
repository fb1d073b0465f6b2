// What a bot says when it is brought into a conversation (`InboundEvent.isArrival`): the `welcome` of the trigger, or where the
// type greets by itself what can be asked there.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';

/** Commands that are listed; a greeting is read by people. */
const MAX_LISTED = 40;

/** An empty one says nothing. Undefined where the trigger has nothing to do with who comes. */
export function welcomeOf(trigger: Trigger): string | undefined {
  if (trigger.welcome !== undefined) return trigger.welcome;
  return triggerTypes[trigger.type].welcome === 'always' ? greeting(trigger) : undefined;
}

export function greeting({ commands, default_target }: Pick<Trigger, 'commands' | 'default_target'>): string {
  const asks = default_target === undefined ? [] : ['Write what you need, and you will get an answer.'];
  if (commands.length === 0) return ['Hello!', ...asks].join(' ');
  const listed = commands
    .slice(0, MAX_LISTED)
    .map(({ command, description }) =>
      description === undefined ? `- /${command}` : `- /${command}: ${description}`,
    );
  const more = commands.length - listed.length;
  return [
    'Hello! These commands are answered here:',
    ...listed,
    ...(more > 0 ? [`- and ${more} more`] : []),
    ...asks,
  ].join('\n');
}
