// A card in Markdown, for platforms that show text only: the title above it, the fields below, and of the actions those that
// lead to a page. A button would lead nowhere.

import type { Card } from './outbound-message.ts';

/** Without a card the text as it is. */
export function withCardText(text: string, card: Card | undefined): string {
  if (card === undefined) return text;
  const { title, fields = [], actions = [] } = card;
  const rows = [
    ...fields.map(({ name, value }) => `- **${name}**: ${value}`),
    ...actions.flatMap((action) => (action.url === undefined ? [] : [`- [${action.title}](${action.url})`])),
  ];
  const parts = [title === undefined ? '' : `**${title}**`, text.trimEnd(), rows.join('\n')];
  return parts.filter((part) => part !== '').join('\n\n');
}
