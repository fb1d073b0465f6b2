// Renders a message card as an adaptive card of the platform: title, facts, inputs and actions. A press
// returns the action id in its data.
//
// The card is valid in version 1.4, which all clients support. Actions are grouped into sets, because clients
// limit the number of actions per set. The texts of a card contain no markup, so they are escaped where the
// platform reads Markdown.

import { escapeLine, escapeMarkdown } from '../../events/outbox/escape-markdown.ts';
import type { CardAction, CardField, CardInput, MessageCard } from '../../events/outbox/message.ts';
import { ACTION_ID } from './activity-choice.ts';

export const CARD_TYPE = 'application/vnd.microsoft.card.adaptive';

export interface CardAttachment {
  readonly contentType: typeof CARD_TYPE;
  readonly content: object;
}

const ACTIONS_IN_SET = 5;
const STYLES = { primary: 'positive', danger: 'destructive' } as const;
/** Button for inputs without an action: inputs need a button that sends them. */
const SEND: CardAction = { id: 'send', title: 'Send' };

export function attachmentOf({ title, fields = [], actions = [], inputs = [] }: MessageCard): CardAttachment {
  const buttons = (actions.length === 0 && inputs.length > 0 ? [SEND] : actions).map(buttonOf);
  const descriptions = actions.flatMap(({ title: name, description }) =>
    description === undefined ? [] : [factOf({ name, value: description })],
  );
  const facts = fields.map(factOf);
  const isOneSet = buttons.length <= ACTIONS_IN_SET;
  const body = [
    ...(title === undefined ? [] : [titleOf(title)]),
    ...(facts.length === 0 ? [] : [{ type: 'FactSet', facts }]),
    ...(descriptions.length === 0 ? [] : [{ type: 'FactSet', facts: descriptions }]),
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

function factOf({ name, value }: CardField): object {
  return { title: escapeLine(name), value: escapeMarkdown(value) };
}

function titleOf(title: string): object {
  return { type: 'TextBlock', text: escapeLine(title), weight: 'Bolder', size: 'Medium', wrap: true };
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
