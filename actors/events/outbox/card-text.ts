// Renders a card as Markdown, for platforms without buttons: the title above the text, the fields and the
// links below it. Other actions are omitted, since text cannot be clicked. The texts of a card contain no
// markup, so they are escaped.

import { escapeLine, escapeMarkdown, linkAddress } from './escape-markdown.ts';
import type { MessageCard } from './message.ts';

/** Returns the text together with the optional card. */
export function withCardText(text: string, card: MessageCard | undefined): string {
  if (card === undefined) return text;
  const { title, fields = [], actions = [] } = card;
  const rows = [
    ...fields.map(({ name, value }) => `- **${escapeLine(name)}**: ${listText(value)}`),
    ...actions.flatMap(({ title: label, url }) =>
      url === undefined ? [] : [`- [${escapeLine(label)}](${linkAddress(url)})`],
    ),
  ];
  const parts = [title === undefined ? '' : `**${escapeLine(title)}**`, text.trimEnd(), rows.join('\n')];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Returns text whose further lines belong to the same list item. */
const listText = (text: string) => escapeMarkdown(text).replaceAll('\n', '\n  ');
