import { describe, expect, test } from 'vitest';
import {
  type PlatformErrors,
  requestError,
  responseError,
} from '../../../../../actors/events/outbox/platform-errors.ts';
import { type FaultKind, RequestFault } from '../../../../../libs/rest/request-fault.ts';

const errors: PlatformErrors = {
  131047: { meaning: 're-engagement message required', kind: 'final' },
  130429: { meaning: 'too many messages', kind: 'rateLimited' },
  131016: { meaning: 'the platform is not available', kind: 'transient' },
  channel_not_found: { meaning: 'there is no such channel', kind: 'final' },
};

describe('a platform error', () => {
  test('contains the code, its meaning and the platform text on one line', () => {
    const fault = responseError(errors, { status: 400, code: 131047, text: 'Re-engage\u001b[31m\nment' });
    expect(fault.message).toBe('131047 re-engagement message required: Re-engage ment');
    expect(fault.platformCode).toBe(131047);
    expect(fault.isFinal).toBe(true);
    expect(responseError(errors, { status: 200, code: 'channel_not_found' }).message).toBe(
      'channel_not_found there is no such channel',
    );
    expect(responseError(errors, { status: 403, code: 9, text: 'no' }).message).toBe('9 (HTTP 403): no');
    expect(responseError(errors, { status: 404 }).message).toBe('404');
  });

  test('names the requested host if the response is not from the platform', () => {
    const host = 'chat.example:8443';
    const messageFor = (refusal: object) => responseError(errors, { status: 503, host, ...refusal }).message;
    const from = 'not a response of the platform (from chat.example:8443)';
    expect([messageFor({}), messageFor({ text: ' \n' }), messageFor({ status: 200 })]).toEqual([
      `503 ${from}`,
      `503 ${from}`,
      `200 ${from}`,
    ]);
    expect(messageFor({ text: 'try later' })).toBe('503: try later');
    expect(messageFor({ code: 131016 })).toBe('131016 the platform is not available');
  });

  test('marks the platform as down after an internal error of the platform or a failed connection', () => {
    const isDown = (refusal: object) => responseError(errors, { status: 500, ...refusal }).isPlatformDown;
    for (const refusal of [{}, { status: 502 }, { code: 131016 }, { code: 7 }, { status: 200 }])
      expect([refusal, isDown(refusal)]).toEqual([refusal, true]);
    for (const refusal of [{ code: 131047 }, { code: 130429 }, { status: 400 }, { status: 429 }])
      expect([refusal, isDown(refusal)]).toEqual([refusal, false]);
    expect(isDown({ status: 200, code: 'not_in_channel' })).toBe(false);
    const kinds: FaultKind[] = ['unreachable', 'insecure', 'broken', 'timeout'];
    for (const kind of [...kinds, 'aborted', 'too-large', 'redirected'] as const)
      expect(requestError(new RequestFault('', { kind, mayHaveArrived: false }), 'x').isPlatformDown).toBe(
        (kinds as string[]).includes(kind),
      );
  });

  test('is classified by a known code, not by the status', () => {
    expect(responseError(errors, { status: 400, code: 130429 }).isRateLimited).toBe(true);
    expect(responseError(errors, { status: 400, code: 131016 })).toMatchObject({
      isFinal: false,
      isRateLimited: false,
    });
    expect(responseError(errors, { status: 503, code: 131047, retryAfterMs: 5 })).toMatchObject({
      isFinal: true,
      isRateLimited: false,
    });
  });

  test('is classified by its status if the code is unknown', () => {
    for (const status of [400, 401, 403, 404, 413])
      expect(responseError(errors, { status })).toMatchObject({ isFinal: true, isRateLimited: false });
    for (const status of [408, 500, 502, 503])
      expect(responseError(errors, { status, code: 7 })).toMatchObject({
        isFinal: false,
        isRateLimited: false,
      });
    expect(responseError(errors, { status: 429 })).toMatchObject({ isFinal: false, isRateLimited: true });
  });

  test('is temporary if an invalid response has a success status', () => {
    const fault = responseError(errors, { status: 200 });
    expect(fault).toMatchObject({ isFinal: false, isRateLimited: false, isOutcomeUnknown: true });
    expect(fault.message).toBe('200 not a response of the platform');
    expect(responseError(errors, { status: 200, code: 'channel_not_found' }).isFinal).toBe(true);
  });

  test('with a requested pause is a rate limit, for any status', () => {
    for (const status of [403, 429, 500, 503])
      expect(responseError(errors, { status, retryAfterMs: 7_000 })).toMatchObject({
        isFinal: false,
        isRateLimited: true,
        retryAfterMs: 7_000,
      });
  });

  test('does not find inherited members of the error table', () => {
    expect(responseError(errors, { status: 400, code: 'constructor' }).message).toBe(
      'constructor (HTTP 400)',
    );
  });
});

describe('an error of a platform request without a response', () => {
  const fault = (kind: FaultKind, mayHaveArrived: boolean) =>
    requestError(new RequestFault('the connection to host was lost', { kind, mayHaveArrived }), 'a message');

  test('names the request, is retryable, and records whether the outcome is unknown', () => {
    expect(fault('broken', true)).toMatchObject({
      message: 'the connection to host was lost (a message)',
      isFinal: false,
      isRateLimited: false,
      isOutcomeUnknown: true,
    });
    expect(fault('unreachable', false)).toMatchObject({ isFinal: false, isOutcomeUnknown: false });
  });

  test('is final if a retry would fail the same way', () => {
    expect(fault('redirected', false).isFinal).toBe(true);
    expect(fault('too-large', true).isFinal).toBe(true);
  });

  test('of an unknown class is reported without its text, which may contain a token', () => {
    expect(requestError(new Error('https://host/bot123:SECRET'), 'a message').message).toBe(
      'request failed (a message)',
    );
    const original = responseError(errors, { status: 404 });
    expect(requestError(original, 'a message')).toBe(original);
  });
});
