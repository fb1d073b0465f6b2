// Renders a card as Markdown, for platforms without buttons: the title above the text, the fields and the
// links below it. Other actions are omitted, since text cannot be clicked.

import type { MessageCard } from './message.ts';

/** Returns the text together with the optional card. */
export function withCardText(text: string, card: MessageCard | undefined): string {
  if (card === undefined) return text;
  const { title, fields = [], actions = [] } = card;
  const rows = [
    ...fields.map(({ name, value }) => `- **${name}**: ${value}`),
    ...actions.flatMap((action) => (action.url === undefined ? [] : [`- [${action.title}](${action.url})`])),
  ];
  const parts = [title === undefined ? '' : `**${title}**`, text.trimEnd(), rows.join('\n')];
  return parts.filter((part) => part !== '').join('\n\n');
}
