// A neutral card as an adaptive card: a title, facts, inputs and actions. A pressed action comes back with its id in its data.
//
// TCC1  it is valid under version 1.4, which all clients of the platform show.
// TCC2  actions stand in sets of a few: a client shows no more of each.

import type { Card, CardAction, CardInput } from '../../events/outbox/outbound-message.ts';
import { ACTION_ID } from './activity-choice.ts';

export const CARD_TYPE = 'application/vnd.microsoft.card.adaptive';

export interface Attachment {
  readonly contentType: typeof CARD_TYPE;
  readonly content: object;
}

const ACTIONS_IN_SET = 5;
const STYLES = { primary: 'positive', danger: 'destructive' } as const;
/** What is filled in has to be sent by something. */
const SEND: CardAction = { id: 'send', title: 'Send' };

export function attachmentOf({ title, fields = [], actions = [], inputs = [] }: Card): Attachment {
  const buttons = (actions.length === 0 && inputs.length > 0 ? [SEND] : actions).map(buttonOf);
  const explained = actions.flatMap(({ title: name, description }) =>
    description === undefined ? [] : [{ title: name, value: description }],
  );
  const facts = fields.map(({ name, value }) => ({ title: name, value }));
  const isOneSet = buttons.length <= ACTIONS_IN_SET;
  const body = [
    ...(title === undefined ? [] : [titleOf(title)]),
    ...(facts.length === 0 ? [] : [{ type: 'FactSet', facts }]),
    ...(explained.length === 0 ? [] : [{ type: 'FactSet', facts: explained }]),
    ...inputs.map(inputOf),
    ...(isOneSet ? [] : setsOf(buttons)),
  ];
  const content = {
    type: 'AdaptiveCard',
    version: '1.4',
    body,
    ...(isOneSet && buttons.length > 0 && { actions: buttons }),
  };
  return { contentType: CARD_TYPE, content };
}

function titleOf(text: string): object {
  return { type: 'TextBlock', text, weight: 'Bolder', size: 'Medium', wrap: true };
}

function buttonOf({ id, title, style, url }: CardAction): object {
  if (url !== undefined) return { type: 'Action.OpenUrl', title, url };
  return {
    type: 'Action.Submit',
    title,
    ...(style !== undefined && { style: STYLES[style] }),
    data: { [ACTION_ID]: id },
  };
}

function inputOf({ id, label, placeholder, isMultiline }: CardInput): object {
  return {
    type: 'Input.Text',
    id,
    label,
    ...(placeholder !== undefined && { placeholder }),
    ...(isMultiline && { isMultiline }),
  };
}

function setsOf(buttons: readonly object[]): readonly object[] {
  const sets: object[] = [];
  for (let from = 0; from < buttons.length; from += ACTIONS_IN_SET)
    sets.push({ type: 'ActionSet', actions: buttons.slice(from, from + ACTIONS_IN_SET) });
  return sets;
}
