// Renders card actions (message.ts) as text lines, for content that does not fit into buttons: actions that
// cannot be buttons, and descriptions of buttons. No content of the agent is lost.

import type { CardAction } from './message.ts';

/** Returns the text line of actions without button. */
export function lineOfAction({ id, title, url, description }: CardAction): string {
  const more = url ?? description;
  return `- ${title.trim() || id}${more === undefined ? '' : `: ${more}`}`;
}

/** Returns the text line that describes a button; undefined without a description. */
export function lineBesideButton({ id, title, description }: CardAction): string | undefined {
  const text = description?.trim() ?? '';
  return text === '' ? undefined : `- ${title.trim() || id}: ${text}`;
}
