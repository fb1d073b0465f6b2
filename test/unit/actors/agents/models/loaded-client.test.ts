import { expect, it } from 'vitest';
import { ModelFaultError } from '../../../../../actors/agents/models/model-errors.ts';
import { loadClient } from '../../../../../actors/agents/models/providers.ts';

it('a missing client package of a provider is reported with a remedy, and the event waits', async () => {
  const missing = ['.', 'no-such-client.ts'].join('/');
  const error: unknown = await loadClient('the client of openai', () => import(missing)).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ModelFaultError);
  expect((error as ModelFaultError).fault).toEqual({
    description: expect.stringMatching(
      /^cannot be used: the client of openai cannot be loaded \(\w+\): the gateway's installation is incomplete, or has changed while it ran; reinstall it \(npm ci, npm run build\) and restart it$/,
    ),
    isFinal: false,
    isUnusableNow: true,
  });
});
