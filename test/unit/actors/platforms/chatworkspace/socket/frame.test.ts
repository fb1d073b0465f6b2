// What comes on a socket of the workspace, read.

import { expect, test } from 'vitest';
import { frameOf } from '../../../../../../actors/platforms/chatworkspace/socket/frame.ts';

test('an envelope whose payload is nested too deep to be kept is one without it, and can be acknowledged', () => {
  const deep = `{"event":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
  expect(frameOf(`{"envelope_id":"e","type":"events_api","payload":${deep}}`)).toEqual({
    kind: 'envelope',
    envelope: { id: 'e', type: 'events_api', payload: undefined },
  });
});
