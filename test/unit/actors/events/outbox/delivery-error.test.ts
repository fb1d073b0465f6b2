import { describe, expect, test } from 'vitest';
import {
  DeliveryError,
  type DeliveryErrorOptions,
} from '../../../../../actors/events/outbox/delivery-error.ts';
import { NoTokenError } from '../../../../../actors/platforms/teamchat/errors.ts';

/** Every option, with a value other than its default. */
const all: Required<Omit<DeliveryErrorOptions, 'cause'>> = {
  platformCode: 'gone',
  isFinal: true,
  isRateLimited: true,
  isUncontacted: true,
  retryAfterMs: 5,
  isOutcomeUnknown: true,
  isPlatformDown: true,
  isTargetMissing: true,
};

describe.each([DeliveryError, NoTokenError])('the copy of an error made by %o.with', (Kind) => {
  test('keeps its class, its message and every unchanged member', () => {
    const error = new Kind('the message is gone', all);
    const changed = error.with({});
    expect(changed).toBeInstanceOf(Kind);
    expect(changed).toMatchObject({ ...all, name: 'DeliveryError', code: 'ERR_DELIVERY' });
    expect(changed.message).toBe('the message is gone');
    expect(changed.cause).toBe(error);
  });

  test.each(Object.keys(all))('changes only %s', (member) => {
    const changed = new Kind('no', all).with({ [member]: undefined });
    const defaultValue = new Kind('no')[member as keyof typeof all];
    expect({ ...changed }).toEqual({ ...all, code: 'ERR_DELIVERY', [member]: defaultValue });
  });

  test('leaves the original unchanged', () => {
    const error = new Kind('no', all);
    error.with({ isFinal: false });
    expect({ ...error }).toMatchObject(all);
  });
});
