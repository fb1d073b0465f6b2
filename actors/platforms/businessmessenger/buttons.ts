// Actions to choose from, as the business messenger has them: up to three as buttons, more as lists. Its limits are narrow,
// and it refuses a message as a whole that is beyond one of them.
//
// CH1  ids are never changed: a tap comes back with them. What has an id that the platform would refuse is told in words.
// CH2  a title or description that is cut ends with an ellipsis; titles of buttons stay different.

import type { CardAction } from '../../events/outbox/outbound-message.ts';
import { shortened } from '../../events/outbox/shortened-text.ts';

/** Beyond these it is a list. */
export const MAX_BUTTONS = 3;
const BUTTON_TITLE = 20;
const BUTTON_ID = 256;
const LIST_ROWS = 10;
const ROW_TITLE = 24;
const ROW_DESCRIPTION = 72;
const ROW_ID = 200;
/** Nobody scrolls through more. */
const MAX_LISTS = 5;
const HEADER = 60;

export interface ActionButtons {
  /** `interactive` of each message, but for its `body`. The first has the title for its header, where that fits. */
  readonly interactives: readonly Interactive[];
  readonly hasHeader: boolean;
  /** What stands in none of them. */
  readonly leftOut: readonly CardAction[];
}

interface Interactive {
  readonly type: 'button' | 'list';
  readonly header?: object;
  readonly action: object;
}

/** `title` is that of the card. */
export function actionButtons(actions: readonly CardAction[], title: string | undefined): ActionButtons {
  const isShort = actions.length <= MAX_BUTTONS;
  const maxId = isShort ? BUTTON_ID : ROW_ID;
  const able = actions.filter(({ id, title: name }) => isId(id, maxId) && isSeen(name + id));
  const shown = able.slice(0, MAX_LISTS * LIST_ROWS);
  const leftOut = actions.filter((action) => !shown.includes(action));
  const [first, ...others] = isShort ? buttonsOf(shown) : listsOf(shown, title);
  if (first === undefined) return { interactives: [], hasHeader: false, leftOut };
  const hasHeader = title !== undefined && title !== '' && shortened(title, HEADER) === title;
  const headed = hasHeader ? { ...first, header: { type: 'text', text: title } } : first;
  return { interactives: [headed, ...others], hasHeader, leftOut };
}

function buttonsOf(actions: readonly CardAction[]): readonly Interactive[] {
  if (actions.length === 0) return [];
  const titles: string[] = [];
  for (const { title, id } of actions) {
    let fitting = shortened(title, BUTTON_TITLE) || shortened(id, BUTTON_TITLE);
    for (let count = 2; titles.includes(fitting); count += 1) {
      const end = ` ${count}`;
      fitting = shortened(title || id, BUTTON_TITLE - end.length) + end;
    }
    titles.push(fitting);
  }
  const buttons = actions.map(({ id }, index) => ({ type: 'reply', reply: { id, title: titles[index] } }));
  return [{ type: 'button', action: { buttons } }];
}

function listsOf(actions: readonly CardAction[], title = 'Choose'): readonly Interactive[] {
  const button = shortened(title, BUTTON_TITLE) || 'Choose';
  const lists: Interactive[] = [];
  for (let from = 0; from < actions.length; from += LIST_ROWS) {
    const rows = actions.slice(from, from + LIST_ROWS).map(rowOf);
    const sections = [{ title: shortened(title, ROW_TITLE) || 'Choose', rows }];
    lists.push({ type: 'list', action: { button, sections } });
  }
  return lists;
}

function rowOf({ id, title, description = '' }: CardAction): object {
  const more = shortened(description, ROW_DESCRIPTION);
  return {
    id,
    title: shortened(title, ROW_TITLE) || shortened(id, ROW_TITLE),
    ...(more === '' ? {} : { description: more }),
  };
}

function isId(id: string, max: number): boolean {
  return id.length > 0 && id.length <= max && id.trim() === id;
}

/** Of either a title can be made. */
const isSeen = (text: string) => shortened(text, 1) !== '';
