// Renders card title and fields as embeds. Parts above the limits of an embed are returned for the text, in
// full. More fields than one embed can hold go to further embeds, each in a separate message. The texts of a
// card contain no markup, so they are escaped.

import { escapeLine, escapeMarkdown } from '../../events/outbox/escape-markdown.ts';
import type { CardField, MessageCard } from '../../events/outbox/message.ts';

const MAX_TITLE = 256;
const MAX_FIELDS = 25;
const MAX_NAME = 256;
const MAX_VALUE = 1024;
/** Maximum length of all embed texts per message. */
const MAX_TOTAL = 6000;

export interface Embed {
  readonly title?: string;
  readonly fields?: readonly CardField[];
}

export interface Embeds {
  readonly embeds: readonly Embed[];
  /** Markdown of the title for the text; undefined if empty, or if the first embed contains the title. */
  readonly title: string | undefined;
  /** Fields for the text in Markdown, which do not fit into an embed. */
  readonly fields: readonly CardField[];
}

export function embedsOf(card: MessageCard): Embeds {
  const title = escapeLine(card.title ?? '');
  const fields = (card.fields ?? []).map(({ name, value }) => ({
    name: escapeLine(name),
    value: escapeMarkdown(value),
  }));
  const isTitle = title !== '' && title.length <= MAX_TITLE;
  const supportedFields = fields.filter(isSupported);
  const groups: CardField[][] = [];
  let size = isTitle ? title.length : 0;
  for (const { name, value } of supportedFields) {
    const group = groups.at(-1);
    size += name.length + value.length;
    if (group !== undefined && group.length < MAX_FIELDS && size <= MAX_TOTAL) group.push({ name, value });
    else {
      groups.push([{ name, value }]);
      if (groups.length > 1) size = name.length + value.length;
    }
  }
  const [first, ...others] = groups;
  const head = { ...(isTitle && { title }), ...(first !== undefined && { fields: first }) };
  return {
    embeds: [...(isTitle || first !== undefined ? [head] : []), ...others.map((each) => ({ fields: each }))],
    title: isTitle || title === '' ? undefined : title,
    fields: fields.filter((field) => !isSupported(field)),
  };
}

function isSupported({ name, value }: CardField): boolean {
  return isVisible(name) && isVisible(value) && name.length <= MAX_NAME && value.length <= MAX_VALUE;
}

const isVisible = (text: string) => text.trim() !== '';
