// How events come to a trigger, in words for a person at the terminal.

import type { Trigger } from './trigger.ts';
import type { WayIn } from './trigger-type.ts';
import { triggerTypes } from './trigger-types.ts';

/** `url` is that of the gateway. */
export function wayInTo(trigger: Trigger, url: string): WayIn {
  const { wayIn } = triggerTypes[trigger.type];
  if (wayIn !== undefined) return wayIn(trigger, url);
  return { text: 'path' in trigger.config ? `POST ${url}${trigger.config.path}` : '' };
}
