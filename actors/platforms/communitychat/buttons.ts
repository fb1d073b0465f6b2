// Actions to choose from as the community chat has them: buttons in rows of five, or selects where there are more than fit, and
// links as buttons. It refuses a message as a whole that is beyond one of its limits.
//
// CCC1  ids are never changed: a click comes back with them. What has an id or an address that the platform would refuse, or
//      finds no room, is told in words.

import type { CardAction } from '../../events/outbox/outbound-message.ts';
import { shortened } from '../../events/outbox/shortened-text.ts';
import { SELECT } from './interaction.ts';

export type Component = Readonly<Record<string, unknown>>;

const ROWS = 5;
const BUTTONS_IN_ROW = 5;
export const MAX_BUTTONS = ROWS * BUTTONS_IN_ROW;
const OPTIONS = 25;
const BUTTON_LABEL = 80;
const OPTION_TEXT = 100;
const ID = 100;
const ADDRESS = 512;
/** Numbers of the platform. */
const ROW = 1;
const BUTTON = 2;
const STRING_SELECT = 3;
const STYLES = { primary: 1, plain: 2, danger: 4, link: 5 } as const;

export interface ActionButtons {
  /** At most five. */
  readonly rows: readonly Component[];
  /** What stands in none of them. */
  readonly leftOut: readonly CardAction[];
  /** What is said of them besides: a button has no room for a description. */
  readonly described: readonly CardAction[];
}

export function actionButtons(actions: readonly CardAction[]): ActionButtons {
  const able = actions.filter(isAble);
  const links = able.filter(({ url }) => url !== undefined);
  const ids = able.filter(({ url }) => url === undefined);
  const areButtons = able.length <= MAX_BUTTONS;
  const buttons = areButtons ? able : links;
  const selects = areButtons ? [] : chunks(ids, OPTIONS).slice(0, ROWS);
  const buttonRows = chunks(buttons, BUTTONS_IN_ROW).slice(0, ROWS - selects.length);
  const shown = new Set([...buttonRows, ...selects].flat());
  return {
    rows: [
      ...buttonRows.map((row) => ({ type: ROW, components: row.map(buttonOf) })),
      ...selects.map((options, index) => ({ type: ROW, components: [selectOf(options, index)] })),
    ],
    leftOut: actions.filter((action) => !shown.has(action)),
    described: actions.filter((action) => shown.has(action) && isUnsaid(action, areButtons)),
  };
}

function isAble({ id, title, url }: CardAction): boolean {
  if (shortened(title, 1) === '') return false;
  if (url !== undefined) return url.length <= ADDRESS && /^https?:\/\/\S+$/.test(url);
  return id.length > 0 && id.length <= ID && id.trim() === id && !id.startsWith(SELECT);
}

function isUnsaid({ description = '', url }: CardAction, areButtons: boolean): boolean {
  const isOption = !areButtons && url === undefined;
  return description.trim() !== '' && !(isOption && shortened(description, OPTION_TEXT) === description);
}

function buttonOf({ id, title, style, url }: CardAction): Component {
  const label = shortened(title, BUTTON_LABEL);
  if (url !== undefined) return { type: BUTTON, style: STYLES.link, label, url };
  return { type: BUTTON, style: STYLES[style ?? 'plain'], label, custom_id: id };
}

function selectOf(actions: readonly CardAction[], index: number): Component {
  return {
    type: STRING_SELECT,
    custom_id: `${SELECT}${index + 1}`,
    placeholder: 'Choose',
    options: actions.map(({ id, title, description = '' }) => {
      const more = shortened(description, OPTION_TEXT);
      return { label: shortened(title, OPTION_TEXT), value: id, ...(more !== '' && { description: more }) };
    }),
  };
}

function chunks<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
}
