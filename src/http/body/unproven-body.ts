// Counts the body of a request while its sender is being verified with keys that have to be fetched. The body may be complete
// long before, and the budget counts bodies in transfer only; so it goes on counting in the budget of unverified senders.
//
// UB1 (A8)  the whole body holds room of the budget until its sender is known; a request without a body holds some, too.

import type { BodyHandler, HttpRequest } from '../listener/seam.ts';
import type { BodyBudget } from './body-budget.ts';

/** What a request costs while it waits. */
const REQUEST_BYTES = 4_096;

/** Takes room for a body that has come; undefined when there is none. To be given back by what is returned. */
export function holdUnproven(
  budget: BodyBudget,
  sender: Pick<HttpRequest, 'remoteAddress'>,
  bytes: number,
): (() => void) | undefined {
  const allowance = budget.allowanceFor(sender);
  return allowance.take(REQUEST_BYTES + bytes) ? () => allowance.giveBack() : undefined;
}

/** The second step of a request, once it is `known` what that is: undefined when it has been answered. */
export function whenKnown(
  { remoteAddress }: Pick<HttpRequest, 'remoteAddress'>,
  budget: BodyBudget,
  known: Promise<BodyHandler | undefined>,
): BodyHandler {
  // Heard of below, if the body ever comes.
  known.catch(() => {});
  return (request, body, reply) => {
    const giveBack = holdUnproven(budget, { remoteAddress }, typeof body === 'string' ? 0 : body.length);
    const kept = giveBack === undefined ? 'no_room' : body;
    known
      .then(
        (next) => reply.guard(() => next?.(request, kept, reply)),
        (error: unknown) =>
          reply.guard(() => {
            throw error;
          }),
      )
      .finally(giveBack);
  };
}
