// Errors of deliveries that are changed on their way.

import { describe, expect, test } from 'vitest';
import {
  DeliveryError,
  type DeliveryErrorOptions,
} from '../../../../../actors/events/outbox/delivery-error.ts';
import { NoTokenError } from '../../../../../actors/platforms/teamchat/errors.ts';

/** Each member is other than what it is unsaid. */
const all: Required<Omit<DeliveryErrorOptions, 'cause'>> = {
  platformCode: 'gone',
  isFinal: true,
  isTooSoon: true,
  isUnasked: true,
  retryAfterMs: 5,
  isOutcomeUnknown: true,
  isPlatformDown: true,
  isTargetGone: true,
};

describe.each([DeliveryError, NoTokenError])('%o.with', (Kind) => {
  test('keeps its kind, its words and every member that is not changed', () => {
    const error = new Kind('the message is gone', all);
    const changed = error.with({});
    expect(changed).toBeInstanceOf(Kind);
    expect(changed).toMatchObject({ ...all, name: 'DeliveryError', code: 'ERR_DELIVERY' });
    expect(changed.message).toBe('the message is gone');
    expect(changed.cause).toBe(error);
  });

  test.each(Object.keys(all))('changes %s, and nothing else', (member) => {
    const changed = new Kind('no', all).with({ [member]: undefined });
    const unsaid = new Kind('no')[member as keyof typeof all];
    expect({ ...changed }).toEqual({ ...all, code: 'ERR_DELIVERY', [member]: unsaid });
  });

  test('leaves the one that it was made of as it was', () => {
    const error = new Kind('no', all);
    error.with({ isFinal: false });
    expect({ ...error }).toMatchObject(all);
  });
});
