// Descriptions of failed connections to a model. Invariant ME1 is in model-errors.ts.

import { expect, it } from 'vitest';
import { connectionFault } from '../../../../../actors/agents/models/connection-fault.ts';

const faultOf = (code: string) =>
  connectionFault(Object.assign(new TypeError('fetch failed'), { cause: { code } })).description;

it.each([
  ['ECONNREFUSED', /nothing listens/],
  ['ENOTFOUND', /host in the base_url/],
  ['EAI_AGAIN', /host in the base_url/],
  ['ERR_SSL_WRONG_VERSION_NUMBER', /is it http:\/\/\?/],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', /NODE_EXTRA_CA_CERTS/],
  ['CERT_HAS_EXPIRED', /not trusted/],
  ['HPE_INVALID_CONSTANT', /is it https:\/\/\?/],
])('the connection error %s is described with its usual cause', (code, meaning) => {
  expect(faultOf(code)).toMatch(meaning);
  expect(faultOf(code)).toContain(`could not be reached, or closed the connection: ${code} (`);
});

it('the description of a connection error repeats no text other than a system error code (ME1)', () => {
  expect(faultOf('your key is sk-1')).toBe(
    'could not be reached, or closed the connection: the connection was closed',
  );
  expect(faultOf('ECONNRESET')).toBe('could not be reached, or closed the connection: ECONNRESET');
});

it('a request to a blocked port fails immediately, and a fallback model may answer', async () => {
  const error: unknown = await fetch('http://127.0.0.1:9/').catch((reason: unknown) => reason);
  expect(connectionFault(error)).toMatchObject({ isFinal: true, mayFallbackAnswer: true });
});
