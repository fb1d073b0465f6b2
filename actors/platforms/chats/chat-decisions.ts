// What people decide in chats about what they were asked: by a press of one of our two buttons, or by a mark on our message.
//
// CHD1  only what the platform delivers as a press, or as a mark that was added, decides; a text never does, whatever it looks like.
// CHD2  of marks that say both, or neither, and of those that were taken away nothing is decided.
// CHD3  a mark on a message costs no more than a look into the store as long as nothing waits to be approved.
// CHD4  what a program does decides nothing, as far as the platform says that it is one.

import { decisionIn, type Verdict } from '../../events/decision-action.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { Store } from '../../store/store.ts';

/** Undefined for the id of any other button. Pure. */
export function pressedDecision(actionId: string): DecisionInbound | undefined {
  const press = decisionIn(actionId);
  return press && { verdict: press.verdict, about: { approval: press.approval } };
}

/** `added` as the platform writes them: characters, names, or both. `message` as a receipt names it. Pure. */
export function reactedDecision(added: readonly string[], message: string): DecisionInbound | undefined {
  const verdicts = new Set(added.flatMap((mark) => VERDICTS.get(bare(mark)) ?? []));
  const [verdict] = verdicts;
  return verdict === undefined || verdicts.size > 1 ? undefined : { verdict, about: { message } };
}

/** Whether a mark can decide anything at all: what is asked is in the store before anybody can see it. Rejects as the store does. */
export async function isAnybodyAsked(store: Pick<Store, 'approvals'>): Promise<boolean> {
  return (await store.approvals({ states: ['pending'], limit: 1 })).length > 0;
}

/** What an event of a decision says besides: nothing. Its note stands in the record where nothing here asks for decisions. */
export const onlyDecides = (
  decision: DecisionInbound,
): Pick<InboundEvent, 'decision' | 'names' | 'text' | 'isChoice' | 'parameters' | 'unsupported'> => ({
  decision,
  names: [],
  text: undefined,
  isChoice: true,
  parameters: {},
  unsupported: 'it decides about nothing that was asked here',
});

const MARKS: Readonly<Record<Verdict, readonly string[]>> = {
  approve: ['👍', '✅', '✔', '+1', 'thumbsup', 'white_check_mark', 'heavy_check_mark', 'like'],
  deny: ['👎', '❌', '⛔', '-1', 'thumbsdown', 'x', 'no_entry'],
};
const VERDICTS = new Map<string, Verdict>(
  (['approve', 'deny'] as const).flatMap((verdict) => MARKS[verdict].map((mark) => [mark, verdict] as const)),
);
/** `+1::skin-tone-2`, `👍🏽`, and a character that is to be drawn as a picture. */
const TONES = /::skin-tone-[2-6]$|[\u{1F3FB}-\u{1F3FF}\uFE0F]/gu;
/** A character by its number, with a name behind it that anybody may change: `2705_whiteheavycheckmark`, `1f44d_thumbsup-tone3`. */
const NUMBERED = /^([0-9a-f]{4,5})_[\w-]*$/;

function bare(mark: string): string {
  const [, number] = NUMBERED.exec(mark) ?? [];
  return (number === undefined ? mark : String.fromCodePoint(Number.parseInt(number, 16))).replace(TONES, '');
}
