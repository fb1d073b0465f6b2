// An event that came while nobody knew who our bots are: whether one of them has said it, or for which of them it is. It was kept as
// it came; before it is matched the platform is asked.
//
// UE1  what a person has said to the only bot waits for one answer of the platform, whatever that is; what only an identity can
//      decide waits for that, for five minutes, and is then taken by nobody: its record says why.
// UE2  it keeps its place in its conversation meanwhile.

import type { InboundEvent } from '../../events/inbound-event.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { isOurs, isUndecided, usersOf } from './app-bots.ts';
import type { WorkspaceBot } from './bot.ts';
import { saidOf, withBots } from './event.ts';

const AGAIN_MS = 5_000;

/** Undefined where all is known that matters. Rejects with a DeliveryError while it is not. */
export function decided(
  event: InboundEvent,
  bots: readonly WorkspaceBot[],
): Promise<InboundEvent> | undefined {
  return isOpen(event, bots) ? asked(event, bots) : undefined;
}

async function asked(event: InboundEvent, bots: readonly WorkspaceBot[]): Promise<InboundEvent> {
  await Promise.all(bots.map((bot) => bot.identifySoon()));
  const known = withBots(event, usersOf(bots, event.payload));
  if (!isOpen(event, bots) || !isDecisive(event, bots)) return known;
  const isLong = bots.some(({ isLongUnknown }) => isLongUnknown);
  if (isLong && !isUndecided(bots, event.payload))
    return {
      ...known,
      unsupported: 'nobody knows whether our own bot said it: the platform does not tell who that is',
    };
  throw new DeliveryError('the platform has not said yet who our bots are', {
    isFinal: isLong,
    isTooSoon: !isLong,
    isUnasked: true,
    retryAfterMs: AGAIN_MS,
  });
}

function isOpen({ payload }: InboundEvent, bots: readonly WorkspaceBot[]): boolean {
  const said = saidOf(payload);
  if (said === undefined) return false;
  return isOurs(said, bots, payload) === undefined || isUndecided(bots, payload);
}

/** People are not taken for our bot: what that says is said by a bot. */
function isDecisive({ payload }: InboundEvent, bots: readonly WorkspaceBot[]): boolean {
  const said = saidOf(payload);
  const isByPerson = said?.what === 'message' && !said.isByBot;
  return !isByPerson || isUndecided(bots, payload);
}
