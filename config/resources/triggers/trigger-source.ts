// Describes the source of a trigger's events for the output on the terminal, such as its webhook URL.

import type { Trigger } from './trigger.ts';
import type { TriggerSource } from './trigger-type.ts';
import { triggerTypes } from './trigger-types.ts';

/** `url` is the URL of the gateway. */
export function describeTriggerSource(trigger: Trigger, url: string): TriggerSource {
  const { describeSource } = triggerTypes[trigger.type];
  if (describeSource !== undefined) return describeSource(trigger, url);
  return { text: 'path' in trigger.config ? `POST ${url}${trigger.config.path}` : '' };
}
