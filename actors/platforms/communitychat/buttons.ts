// Renders actions as rows of five buttons, or as selects if more than five rows would be needed. Links stay
// buttons. The platform refuses messages above its limits.
//
// Ids are never shortened, because presses return them. Actions with an unsupported id or URL, or above the
// limits, become text.

import type { CardAction } from '../../events/outbox/message.ts';
import { shorten } from '../../events/outbox/shorten.ts';
import { SELECT } from './interaction.ts';

export type Component = Readonly<Record<string, unknown>>;

const MAX_ROWS = 5;
const BUTTONS_IN_ROW = 5;
export const MAX_BUTTONS = MAX_ROWS * BUTTONS_IN_ROW;
const MAX_OPTIONS = 25;
const MAX_BUTTON_LABEL = 80;
const MAX_OPTION_TEXT = 100;
const MAX_ID = 100;
const MAX_ADDRESS = 512;
/** Component types and styles of the platform. */
const ROW = 1;
const BUTTON = 2;
const STRING_SELECT = 3;
const STYLES = { primary: 1, plain: 2, danger: 4, link: 5 } as const;

export interface ButtonRows {
  /** Up to five rows. */
  readonly rows: readonly Component[];
  /** Actions that have no button or option. */
  readonly remaining: readonly CardAction[];
  /** Actions whose description does not fit into their button or option. */
  readonly described: readonly CardAction[];
}

export function actionButtons(actions: readonly CardAction[]): ButtonRows {
  const supportedActions = actions.filter(isSupported);
  const links = supportedActions.filter(({ url }) => url !== undefined);
  const ids = supportedActions.filter(({ url }) => url === undefined);
  const areButtons = supportedActions.length <= MAX_BUTTONS;
  const buttons = areButtons ? supportedActions : links;
  const selects = areButtons ? [] : chunks(ids, MAX_OPTIONS).slice(0, MAX_ROWS);
  const buttonRows = chunks(buttons, BUTTONS_IN_ROW).slice(0, MAX_ROWS - selects.length);
  const rendered = new Set([...buttonRows, ...selects].flat());
  return {
    rows: [
      ...buttonRows.map((row) => ({ type: ROW, components: row.map(buttonOf) })),
      ...selects.map((options, index) => ({ type: ROW, components: [selectOf(options, index)] })),
    ],
    remaining: actions.filter((action) => !rendered.has(action)),
    described: actions.filter((action) => rendered.has(action) && isDescriptionCut(action, areButtons)),
  };
}

function isSupported({ id, title, url }: CardAction): boolean {
  if (shorten(title, 1) === '') return false;
  if (url !== undefined) return url.length <= MAX_ADDRESS && /^https?:\/\/\S+$/.test(url);
  return id.length > 0 && id.length <= MAX_ID && id.trim() === id && !id.startsWith(SELECT);
}

function isDescriptionCut({ description = '', url }: CardAction, areButtons: boolean): boolean {
  const isOption = !areButtons && url === undefined;
  return description.trim() !== '' && !(isOption && shorten(description, MAX_OPTION_TEXT) === description);
}

function buttonOf({ id, title, style, url }: CardAction): Component {
  const label = shorten(title, MAX_BUTTON_LABEL);
  if (url !== undefined) return { type: BUTTON, style: STYLES.link, label, url };
  return { type: BUTTON, style: STYLES[style ?? 'plain'], label, custom_id: id };
}

function selectOf(actions: readonly CardAction[], index: number): Component {
  return {
    type: STRING_SELECT,
    custom_id: `${SELECT}${index + 1}`,
    placeholder: 'Choose',
    options: actions.map(({ id, title, description = '' }) => {
      const details = shorten(description, MAX_OPTION_TEXT);
      return {
        label: shorten(title, MAX_OPTION_TEXT),
        value: id,
        ...(details !== '' && { description: details }),
      };
    }),
  };
}

function chunks<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
}
