import { expect, it } from 'vitest';
import { ModelFaultError } from '../../../../../actors/agents/models/model-errors.ts';
import { loaded } from '../../../../../actors/agents/models/providers.ts';

it('a client that is not there says what to do, and the event waits for it', async () => {
  const missing = ['.', 'no-such-client.ts'].join('/');
  const error: unknown = await loaded('the client of openai', () => import(missing)).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ModelFaultError);
  expect((error as ModelFaultError).fault).toEqual({
    what: expect.stringMatching(
      /^cannot be asked: the client of openai cannot be loaded \(\w+\): the installation of the gateway is not whole, or has changed under it; install it again \(npm ci, npm run build\) and restart it$/,
    ),
    isFinal: false,
    isUsedUp: true,
  });
});
