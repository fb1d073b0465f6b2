// Renders actions as up to three buttons, or as lists. The platform refuses messages above its limits.
//
// Ids are never shortened, because presses return them. Actions with an unsupported id become text. Titles
// and descriptions may be shortened, with an ellipsis; button titles remain distinct.

import type { CardAction } from '../../events/outbox/message.ts';
import { shorten } from '../../events/outbox/shorten.ts';

/** Maximum number of buttons; more actions become a list. */
export const MAX_BUTTONS = 3;
const MAX_BUTTON_TITLE = 20;
const MAX_BUTTON_ID = 256;
const MAX_LIST_ROWS = 10;
const MAX_ROW_TITLE = 24;
const MAX_ROW_DESCRIPTION = 72;
const MAX_ROW_ID = 200;
/** Maximum number of lists; longer choices are impractical to scroll. */
const MAX_LISTS = 5;
const MAX_HEADER = 60;

export interface MessengerButtons {
  /**
   * The `interactive` member of each message, without its `body`. The first has the title as a header, if
   * that fits.
   */
  readonly interactives: readonly Interactive[];
  readonly hasHeader: boolean;
  /** Actions that have no button or list row. */
  readonly remaining: readonly CardAction[];
}

interface Interactive {
  readonly type: 'button' | 'list';
  readonly header?: object;
  readonly action: object;
}

/** Renders the actions. `title` is the title of the card. */
export function actionButtons(actions: readonly CardAction[], title: string | undefined): MessengerButtons {
  const isShort = actions.length <= MAX_BUTTONS;
  const maxId = isShort ? MAX_BUTTON_ID : MAX_ROW_ID;
  const supportedActions = actions.filter(({ id, title: name }) => isId(id, maxId) && isVisible(name + id));
  const rendered = supportedActions.slice(0, MAX_LISTS * MAX_LIST_ROWS);
  const remaining = actions.filter((action) => !rendered.includes(action));
  const [first, ...others] = isShort ? buttonsOf(rendered) : listsOf(rendered, title);
  if (first === undefined) return { interactives: [], hasHeader: false, remaining };
  const hasHeader = title !== undefined && title !== '' && shorten(title, MAX_HEADER) === title;
  const withHeader = hasHeader ? { ...first, header: { type: 'text', text: title } } : first;
  return { interactives: [withHeader, ...others], hasHeader, remaining };
}

function buttonsOf(actions: readonly CardAction[]): readonly Interactive[] {
  if (actions.length === 0) return [];
  const titles: string[] = [];
  for (const { title, id } of actions) {
    let label = shorten(title, MAX_BUTTON_TITLE) || shorten(id, MAX_BUTTON_TITLE);
    for (let count = 2; titles.includes(label); count += 1) {
      const suffix = ` ${count}`;
      label = shorten(title || id, MAX_BUTTON_TITLE - suffix.length) + suffix;
    }
    titles.push(label);
  }
  const buttons = actions.map(({ id }, index) => ({ type: 'reply', reply: { id, title: titles[index] } }));
  return [{ type: 'button', action: { buttons } }];
}

function listsOf(actions: readonly CardAction[], title = 'Choose'): readonly Interactive[] {
  const button = shorten(title, MAX_BUTTON_TITLE) || 'Choose';
  const lists: Interactive[] = [];
  for (let from = 0; from < actions.length; from += MAX_LIST_ROWS) {
    const rows = actions.slice(from, from + MAX_LIST_ROWS).map(rowOf);
    const sections = [{ title: shorten(title, MAX_ROW_TITLE) || 'Choose', rows }];
    lists.push({ type: 'list', action: { button, sections } });
  }
  return lists;
}

function rowOf({ id, title, description = '' }: CardAction): object {
  const details = shorten(description, MAX_ROW_DESCRIPTION);
  return {
    id,
    title: shorten(title, MAX_ROW_TITLE) || shorten(id, MAX_ROW_TITLE),
    ...(details === '' ? {} : { description: details }),
  };
}

function isId(id: string, max: number): boolean {
  return id.length > 0 && id.length <= max && id.trim() === id;
}

/** Returns true if the text contains visible characters, as titles must. */
const isVisible = (text: string) => shorten(text, 1) !== '';
