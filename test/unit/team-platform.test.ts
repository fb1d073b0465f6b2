// The fake of the team chat, proven by the vendor's own client: what that sends is taken as what we send is, and refused in the words
// that it understands.

import { ConnectorClient, MicrosoftAppCredentials } from 'botframework-connector';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { APP_ID, APP_PASSWORD, TeamPlatform } from '../fixtures/team-platform/team-platform.ts';

let platform: TeamPlatform;
let client: ConnectorClient;

beforeAll(async () => {
  platform = await new TeamPlatform().start();
  const credentials = new MicrosoftAppCredentials(APP_ID, APP_PASSWORD);
  // Its own way to a token leads to the vendor's servers alone.
  credentials.getToken = async () => {
    const form = {
      grant_type: 'client_credentials',
      client_id: APP_ID,
      client_secret: APP_PASSWORD,
      scope: 'https://api.botframework.com/.default',
    };
    const response = await fetch(platform.tokenUrl, { method: 'POST', body: new URLSearchParams(form) });
    return ((await response.json()) as { readonly access_token: string }).access_token;
  };
  client = new ConnectorClient(credentials, { baseUri: platform.serviceUrl, noRetryPolicy: true });
});
afterAll(() => platform.stop());

const place = 'a:1/x y;messageid=7';

test('a message, a reply and an edit of the vendor arrive (TCF1)', async () => {
  const sent = await client.conversations.sendToConversation(place, { type: 'message', text: 'one' });
  await client.conversations.replyToActivity(place, '1767', { type: 'message', text: 'two' });
  await client.conversations.updateActivity(place, sent.id, { type: 'message', text: 'one, changed' });
  await client.conversations.sendToConversation(place, { type: 'typing' });
  expect(platform.sentTo(place)).toMatchObject([
    { id: sent.id, repliesTo: undefined, isEdited: true, body: { text: 'one, changed' } },
    { repliesTo: '1767', isEdited: false, body: { text: 'two' } },
  ]);
  expect(platform.typing).toEqual([place]);
});

test.each<readonly [string, () => void, object]>([
  [
    'a conversation that is gone',
    () => platform.gone.add('gone'),
    { statusCode: 404, code: 'ConversationNotFound' },
  ],
  ['too much', () => platform.refuse(429, 'TooManyRequests'), { statusCode: 429, code: 'TooManyRequests' }],
  ['a token that holds no more', () => platform.revokeTokens(), { statusCode: 401 }],
])('%s is refused as the vendor does it', async (_, plan, error) => {
  plan();
  const { getToken } = client.credentials as MicrosoftAppCredentials;
  const [before] = platform.tokens;
  if ('code' in error === false) Object.assign(client.credentials, { getToken: async () => before });
  const refused = client.conversations.sendToConversation('gone', { type: 'message', text: 'x' });
  await expect(refused).rejects.toMatchObject(error);
  Object.assign(client.credentials, { getToken });
});
