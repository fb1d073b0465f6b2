import { expect, test } from 'vitest';
import { parseFrame } from '../../../../../../actors/platforms/chatworkspace/socket/frame.ts';

test('an envelope with a deeply nested payload is parsed without the payload and can be acknowledged', () => {
  const deep = `{"event":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
  expect(parseFrame(`{"envelope_id":"e","type":"events_api","payload":${deep}}`)).toEqual({
    kind: 'envelope',
    envelope: { id: 'e', type: 'events_api', payload: undefined },
  });
});
