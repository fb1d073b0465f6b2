// Malformed responses, errors and refusals, in all provider protocols.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failure } from '../../../../fixtures/models/failure.ts';
import {
  modelRequest,
  modelsAt,
  providerTypes,
  requestModel,
} from '../../../../fixtures/models/model-requests.ts';
import { ModelServer } from '../../../../fixtures/models/model-server.ts';
import { refusals } from '../../../../fixtures/models/refusals.ts';
import type { Reply } from '../../../../fixtures/models/reply.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
beforeEach(() => server.reset());

const whole: Reply = { text: ['We ', 'are open.'] };

/** A stream that contains only `raw`. */
const only = (raw: string): Reply => ({
  text: '',
  inserted: { at: 0, raw },
  cut: { afterBytes: Buffer.byteLength(raw), how: 'end' },
});

describe.each(providerTypes)('a model of %s', (type) => {
  it.each([
    ['a web page', { body: '<html>' }],
    ['an empty body', { body: '' }],
    ['JSON of another form', { body: '[{"error":null}]' }],
    ['an error without message', { body: '{"error":{"message":7,"details":[null]}}' }],
  ])('a failed model response with %s as its body is classified by its HTTP status', async (_, { body }) => {
    server.reply({ status: 503, body, contentType: 'text/html' }, whole);
    expect((await requestModel(modelsAt(server.url), [type], modelRequest(), { retries: 1 })).text).toBe(
      'We are open.',
    );
    server.reply({ status: 403, body });
    expect((await failure(requestModel(modelsAt(server.url), [type], modelRequest()))).message).toContain(
      'answered 403',
    );
  });

  it.each(['{"hello":"world"}', '[]', 'null', '7', '{"choices":7,"candidates":7,"type":7}'])(
    'that sends %s instead of a protocol message is requested again',
    async (json) => {
      server.reply(only(`data: ${json}\n\n`), whole);
      const answer = await requestModel(modelsAt(server.url), [type], modelRequest(), { retries: 1 });
      expect(answer.text).toBe('We are open.');
      expect(server.requests).toHaveLength(2);
    },
  );

  it('a provider-specific refusal of a model ends with finish "filtered", and is not requested again', async () => {
    server.reply(only(refusals[type]));
    const answer = await requestModel(modelsAt(server.url), [type], modelRequest(), { retries: 3 });
    expect(answer).toMatchObject({ finish: 'filtered', calls: [] });
    expect(['', 'I cannot.']).toContain(answer.text);
    expect(server.requests).toHaveLength(1);
  });
});
