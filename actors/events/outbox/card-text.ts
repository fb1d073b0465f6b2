// Renders a card as Markdown, for platforms without buttons: the title above the text, the fields and the
// links below it. Other actions are omitted, since text cannot be clicked.

import { escapeMarkdown } from './escape-markdown.ts';
import type { MessageCard } from './message.ts';

/** Returns the text together with the optional card. */
export function withCardText(text: string, card: MessageCard | undefined): string {
  if (card === undefined) return text;
  const { title, fields = [], actions = [] } = card;
  const rows = [
    ...fields.map(({ name, value }) => `- **${name}**: ${value}`),
    ...actions.flatMap((action) => (action.url === undefined ? [] : [linkRow(action.title, action.url)])),
  ];
  const parts = [title === undefined ? '' : `**${title}**`, text.trimEnd(), rows.join('\n')];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Returns a link whose label and address cannot end early. */
function linkRow(label: string, address: string): string {
  const href = address.replace(
    /[\s()<>\\]/g,
    (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return `- [${escapeMarkdown(label)}](${href})`;
}
