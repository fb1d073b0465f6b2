// Reads approval decisions from chat events: a press of one of the gateway's two buttons (approve, deny), or
// a reaction to the message that requests the approval.
//
// Only a button press or an added reaction decides, never a text. Removed reactions decide nothing, nor do
// reactions that mean both verdicts. Actions of programs decide nothing, if the platform marks them as
// programs. If no approval is pending, a reaction costs one store query.

import { type DecisionVerdict, parseDecisionActionId } from '../../events/decision-action.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { Store } from '../../store/store.ts';

/** Returns a button press's decision; undefined for other buttons. Pure. */
export function decisionOfPress(actionId: string): DecisionInbound | undefined {
  const press = parseDecisionActionId(actionId);
  return press && { verdict: press.verdict, about: { approval: press.approval } };
}

/**
 * Returns the decision of a person's reactions to a message; undefined if they decide nothing. `reactions`
 * contains characters, names or both, as the platform writes them. `message` is the message id in the
 * send receipt. Pure.
 */
export function decisionOfReactions(
  reactions: readonly string[],
  message: string,
): DecisionInbound | undefined {
  const verdicts = new Set(reactions.flatMap((reaction) => VERDICTS.get(withoutTone(reaction)) ?? []));
  const [verdict] = verdicts;
  return verdict === undefined || verdicts.size > 1 ? undefined : { verdict, about: { message } };
}

/** Returns true if an approval is pending. Rejects if the store does. */
export async function hasPendingApprovals(store: Pick<Store, 'approvals'>): Promise<boolean> {
  return (await store.approvals({ states: ['pending'], limit: 1 })).length > 0;
}

/** Event members of a decision. `unsupported` is the note of the ignored event if no approval matches. */
export const decisionMembers = (
  decision: DecisionInbound,
): Pick<InboundEvent, 'decision' | 'names' | 'text' | 'isChoice' | 'parameters' | 'unsupported'> => ({
  decision,
  names: [],
  text: undefined,
  isChoice: true,
  parameters: {},
  unsupported: 'a decision without a matching approval',
});

const REACTIONS: Readonly<Record<DecisionVerdict, readonly string[]>> = {
  approve: ['👍', '✅', '✔', '+1', 'thumbsup', 'white_check_mark', 'heavy_check_mark', 'like'],
  deny: ['👎', '❌', '⛔', '-1', 'thumbsdown', 'x', 'no_entry'],
};
const VERDICTS = new Map<string, DecisionVerdict>(
  (['approve', 'deny'] as const).flatMap((verdict) =>
    REACTIONS[verdict].map((reaction) => [reaction, verdict] as const),
  ),
);
/** Skin tones, as in `+1::skin-tone-2` and `👍🏽`, and the emoji variation selector. */
const TONES = /::skin-tone-[2-6]$|[\u{1F3FB}-\u{1F3FF}\uFE0F]/gu;
/**
 * A reaction as code point and name; users can change the name: `2705_whiteheavycheckmark`,
 * `1f44d_thumbsup-tone3`.
 */
const NUMBERED = /^([0-9a-f]{4,5})_[\w-]*$/;

function withoutTone(reaction: string): string {
  const [, number] = NUMBERED.exec(reaction) ?? [];
  return (number === undefined ? reaction : String.fromCodePoint(Number.parseInt(number, 16))).replace(
    TONES,
    '',
  );
}
