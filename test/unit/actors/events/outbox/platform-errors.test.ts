import { describe, expect, test } from 'vitest';
import {
  type PlatformErrors,
  platformFault,
  sendingFault,
} from '../../../../../actors/events/outbox/platform-errors.ts';
import { type FaultKind, RequestFault } from '../../../../../libs/rest/request-fault.ts';

const errors: PlatformErrors = {
  131047: { meaning: 're-engagement message required', is: 'final' },
  130429: { meaning: 'too many messages', is: 'tooSoon' },
  131016: { meaning: 'the platform is not available', is: 'passing' },
  channel_not_found: { meaning: 'there is no such channel', is: 'final' },
};

describe('what a platform refuses', () => {
  test('is told with its code, what that means, and its own words on one line', () => {
    const fault = platformFault(errors, { status: 400, code: 131047, text: 'Re-engage\u001b[31m\nment' });
    expect(fault.message).toBe('131047 re-engagement message required: Re-engage ment');
    expect(fault.platformCode).toBe(131047);
    expect(fault.isFinal).toBe(true);
    expect(platformFault(errors, { status: 200, code: 'channel_not_found' }).message).toBe(
      'channel_not_found there is no such channel',
    );
    expect(platformFault(errors, { status: 403, code: 9, text: 'no' }).message).toBe('9 (HTTP 403): no');
    expect(platformFault(errors, { status: 404 }).message).toBe('404');
  });

  test('that is the page of somebody else is told with the host that was asked', () => {
    const host = 'chat.example:8443';
    const said = (refusal: object) => platformFault(errors, { status: 503, host, ...refusal }).message;
    const from = 'without an answer of the platform (from chat.example:8443)';
    expect([said({}), said({ text: ' \n' }), said({ status: 200 })]).toEqual([
      `503 ${from}`,
      `503 ${from}`,
      `200 ${from}`,
    ]);
    expect(said({ text: 'try later' })).toBe('503: try later');
    expect(said({ code: 131016 })).toBe('131016 the platform is not available');
  });

  test('says of the platform that it is down where nothing else was said (CIR3 of circuits.ts)', () => {
    const isDown = (refusal: object) => platformFault(errors, { status: 500, ...refusal }).isPlatformDown;
    for (const refusal of [{}, { status: 502 }, { code: 131016 }, { code: 7 }, { status: 200 }])
      expect([refusal, isDown(refusal)]).toEqual([refusal, true]);
    for (const refusal of [{ code: 131047 }, { code: 130429 }, { status: 400 }, { status: 429 }])
      expect([refusal, isDown(refusal)]).toEqual([refusal, false]);
    expect(isDown({ status: 200, code: 'not_in_channel' })).toBe(false);
    const kinds: FaultKind[] = ['unreachable', 'insecure', 'broken', 'timeout'];
    for (const kind of [...kinds, 'aborted', 'too-large', 'redirected'] as const)
      expect(sendingFault(new RequestFault('', { kind, mayHaveArrived: false }), 'x').isPlatformDown).toBe(
        (kinds as string[]).includes(kind),
      );
  });

  test('is judged by its code where that is known, and not by the status (PF1)', () => {
    expect(platformFault(errors, { status: 400, code: 130429 }).isTooSoon).toBe(true);
    expect(platformFault(errors, { status: 400, code: 131016 })).toMatchObject({
      isFinal: false,
      isTooSoon: false,
    });
    expect(platformFault(errors, { status: 503, code: 131047, retryAfterMs: 5 })).toMatchObject({
      isFinal: true,
      isTooSoon: false,
    });
  });

  test('is judged by its status where it has no code that is known', () => {
    for (const status of [400, 401, 403, 404, 413])
      expect(platformFault(errors, { status })).toMatchObject({ isFinal: true, isTooSoon: false });
    for (const status of [408, 500, 502, 503])
      expect(platformFault(errors, { status, code: 7 })).toMatchObject({ isFinal: false, isTooSoon: false });
    expect(platformFault(errors, { status: 429 })).toMatchObject({ isFinal: false, isTooSoon: true });
  });

  test('is judged as passing where something else has answered, as if all were well', () => {
    const fault = platformFault(errors, { status: 200 });
    expect(fault).toMatchObject({ isFinal: false, isTooSoon: false, isOutcomeUnknown: true });
    expect(fault.message).toBe('200 without an answer of the platform');
    expect(platformFault(errors, { status: 200, code: 'channel_not_found' }).isFinal).toBe(true);
  });

  test('with a pause is no refusal of the message, whatever the status (PF2)', () => {
    for (const status of [403, 429, 500, 503])
      expect(platformFault(errors, { status, retryAfterMs: 7_000 })).toMatchObject({
        isFinal: false,
        isTooSoon: true,
        retryAfterMs: 7_000,
      });
  });

  test('finds nothing in a table that all objects have', () => {
    expect(platformFault(errors, { status: 400, code: 'constructor' }).message).toBe(
      'constructor (HTTP 400)',
    );
  });
});

describe('a request without an answer', () => {
  const fault = (kind: FaultKind, mayHaveArrived: boolean) =>
    sendingFault(new RequestFault('the connection to host was lost', { kind, mayHaveArrived }), 'a message');

  test('is told by what it was, and tried again; whether it arrived is kept in mind', () => {
    expect(fault('broken', true)).toMatchObject({
      message: 'the connection to host was lost (a message)',
      isFinal: false,
      isTooSoon: false,
      isOutcomeUnknown: true,
    });
    expect(fault('unreachable', false)).toMatchObject({ isFinal: false, isOutcomeUnknown: false });
  });

  test('is final where it would end the same way again', () => {
    expect(fault('redirected', false).isFinal).toBe(true);
    expect(fault('too-large', true).isFinal).toBe(true);
  });

  test('that failed otherwise is told without the text of the error, which may repeat a token (RF1)', () => {
    expect(sendingFault(new Error('https://host/bot123:SECRET'), 'a message').message).toBe(
      'a message could not be sent',
    );
    const told = platformFault(errors, { status: 404 });
    expect(sendingFault(told, 'a message')).toBe(told);
  });
});
