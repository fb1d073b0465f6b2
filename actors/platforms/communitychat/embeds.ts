// Title and fields of an answer as embeds of the community chat. What would be beyond a limit of one is told in words instead, so
// that nothing of it is cut; more fields than one embed holds make another, each in a message of its own.

import type { Card, CardField } from '../../events/outbox/outbound-message.ts';

const TITLE = 256;
const FIELDS = 25;
const NAME = 256;
const VALUE = 1024;
/** Of all embeds of a message together. */
const TOTAL = 6000;

export interface Embed {
  readonly title?: string;
  readonly fields?: readonly CardField[];
}

export interface Embeds {
  readonly embeds: readonly Embed[];
  /** Undefined where the title stands in the first embed, or there is none. */
  readonly title: string | undefined;
  /** Those that stand in none. */
  readonly fields: readonly CardField[];
}

export function embedsOf({ title = '', fields = [] }: Card): Embeds {
  const isTitle = title.trim() !== '' && title.length <= TITLE;
  const able = fields.filter(isAble);
  const groups: CardField[][] = [];
  let size = isTitle ? title.length : 0;
  for (const { name, value } of able) {
    const group = groups.at(-1);
    size += name.length + value.length;
    if (group !== undefined && group.length < FIELDS && size <= TOTAL) group.push({ name, value });
    else {
      groups.push([{ name, value }]);
      if (groups.length > 1) size = name.length + value.length;
    }
  }
  const [first, ...others] = groups;
  const head = { ...(isTitle && { title }), ...(first !== undefined && { fields: first }) };
  return {
    embeds: [...(isTitle || first !== undefined ? [head] : []), ...others.map((each) => ({ fields: each }))],
    title: isTitle || title.trim() === '' ? undefined : title,
    fields: fields.filter((field) => !isAble(field)),
  };
}

function isAble({ name, value }: CardField): boolean {
  return isSeen(name) && isSeen(value) && name.length <= NAME && value.length <= VALUE;
}

const isSeen = (text: string) => text.trim() !== '';
