// Actions in words, for platforms whose messages are plain text with buttons below: what can be no button, and what a button has
// no room for. Nothing that an agent has written is left out.

import type { CardAction } from './outbound-message.ts';

/** Of an action that is no button. */
export function lineOfAction({ id, title, url, description }: CardAction): string {
  const more = url ?? description;
  return `- ${title.trim() || id}${more === undefined ? '' : `: ${more}`}`;
}

/** What is said of an action beside its button; undefined where that is nothing. */
export function lineBesideButton({ id, title, description }: CardAction): string | undefined {
  const words = description?.trim() ?? '';
  return words === '' ? undefined : `- ${title.trim() || id}: ${words}`;
}
