// Bounds into how many requests one message becomes. An answer may have megabytes; sent whole it would fill a chat with thousands of
// messages, hold up everybody else who is answered there for an hour, and use up what a platform lets an account send in a day.
// So the rest of such a text is left out, and its last line says so: whoever asked has the beginning, and knows.

import { UnrenderableError } from './delivery-error.ts';
import type { OutboundMessage } from './outbound-message.ts';
import { splitText } from './split-text.ts';

/** Less than the smallest number of messages a day that a platform allows (250), and within the time in which any takes an answer. */
export const MAX_PARTS = 100;
/** More of them leave too little room for the text that they belong to. */
const MAX_PARTS_OF_CARD = MAX_PARTS / 2;
/** Characters; of less nothing is kept. */
const LEAST_KEPT = 64;
const CARD_LEFT_OUT = 'What belongs to this answer is too long to be shown here, and was left out.';

/** Renders the message, or as much of its beginning as there is room for. Throws UnrenderableError. */
export function boundedParts<Rendered>(
  message: OutboundMessage,
  render: (message: OutboundMessage) => readonly Rendered[],
): readonly Rendered[] {
  const whole = render(message);
  if (whole.length <= MAX_PARTS) return whole;
  const { text } = message;
  const { card, note } = fittingCard(message, render);
  for (let room = text.length; ; ) {
    const parts = render({ ...message, card, text: joined(beginningOf(text, room), note) });
    if (parts.length <= MAX_PARTS) return parts;
    room = Math.floor(room * Math.min(0.95, (MAX_PARTS - 1) / parts.length));
    if (room < LEAST_KEPT) break;
  }
  throw new UnrenderableError(`it would be ${whole.length} messages; at most ${MAX_PARTS} are sent`);
}

/** Undefined, with a word of it, where the card alone would take most of the room. */
function fittingCard(
  message: OutboundMessage,
  render: (message: OutboundMessage) => readonly unknown[],
): { readonly card: OutboundMessage['card']; readonly note: string } {
  const { card } = message;
  const fits = card === undefined || render({ ...message, text: '' }).length <= MAX_PARTS_OF_CARD;
  return fits ? { card, note: '' } : { card: undefined, note: CARD_LEFT_OUT };
}

/** With a last line that says how much is missing; a block of code is closed before it. */
function beginningOf(text: string, room: number): string {
  if (room >= text.length) return text;
  const [kept = ''] = splitText(text.slice(0, 2 * room), { limit: room, unit: 'utf16' });
  return joined(kept, leftOut(text.length - kept.length));
}

const leftOut = (count: number) =>
  `This answer is too long to be sent here: about ${count.toLocaleString('en')} characters at its end were left out.`;

const joined = (...texts: readonly string[]) => texts.filter((text) => text !== '').join('\n\n');
