// Limits the memory of requests whose sender is still being verified, for example because keys must be
// fetched. The body may arrive earlier. BodyBudget counts a body only until it is complete, so the
// request is counted here, even without body (A8, ARCHITECTURE.md).

import type { BodyHandler, HttpRequest } from '../listener/seam.ts';
import type { BodyBudget } from './body-budget.ts';

/** Memory for a pending request in addition to its body. */
const REQUEST_BYTES = 4_096;

/**
 * Reserves memory for a request with a complete body. Returns the function that releases it, or undefined if
 * the budget is exhausted.
 */
export function reserveUnverified(
  budget: BodyBudget,
  sender: Pick<HttpRequest, 'remoteAddress'>,
  bytes: number,
): (() => void) | undefined {
  const allowance = budget.allowanceFor(sender);
  return allowance.acquire(REQUEST_BYTES + bytes) ? () => allowance.release() : undefined;
}

/**
 * Returns a handler that calls the handler in `verified`, when this promise resolves. It resolves with
 * undefined if the request already has a response.
 */
export function deferUntilVerified(
  { remoteAddress }: Pick<HttpRequest, 'remoteAddress'>,
  budget: BodyBudget,
  verified: Promise<BodyHandler | undefined>,
): BodyHandler {
  // A rejection is handled below. This prevents an unhandled rejection if the body never arrives.
  verified.catch(() => {});
  return (request, body, reply) => {
    const release = reserveUnverified(budget, { remoteAddress }, typeof body === 'string' ? 0 : body.length);
    const content = release === undefined ? 'over_budget' : body;
    verified
      .then(
        (next) => reply.guard(() => next?.(request, content, reply)),
        (error: unknown) =>
          reply.guard(() => {
            throw error;
          }),
      )
      .finally(release);
  };
}
