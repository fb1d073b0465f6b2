// Checks the fake team chat with the vendor's client: requests and errors must follow the vendor's protocol.
// Invariant TCF1 is in test/fixtures/team-platform/team-platform.ts.

import { ConnectorClient, MicrosoftAppCredentials } from 'botframework-connector';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { APP_ID, APP_PASSWORD, TeamPlatform } from '../fixtures/team-platform/team-platform.ts';

let platform: TeamPlatform;
let client: ConnectorClient;

beforeAll(async () => {
  platform = await new TeamPlatform().start();
  const credentials = new MicrosoftAppCredentials(APP_ID, APP_PASSWORD);
  // The client requests tokens from the vendor's servers only, so the test provides a token.
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

const conversationId = 'a:1/x y;messageid=7';

test("the vendor's client can send, reply, edit and show typing at the fake team chat (TCF1)", async () => {
  const response = await client.conversations.sendToConversation(conversationId, {
    type: 'message',
    text: 'one',
  });
  await client.conversations.replyToActivity(conversationId, '1767', { type: 'message', text: 'two' });
  await client.conversations.updateActivity(conversationId, response.id, {
    type: 'message',
    text: 'one, changed',
  });
  await client.conversations.sendToConversation(conversationId, { type: 'typing' });
  expect(platform.sentTo(conversationId)).toMatchObject([
    { id: response.id, repliesTo: undefined, isEdited: true, body: { text: 'one, changed' } },
    { repliesTo: '1767', isEdited: false, body: { text: 'two' } },
  ]);
  expect(platform.typing).toEqual([conversationId]);
});

test.each<readonly [string, () => void, object]>([
  [
    'a removed conversation',
    () => platform.removedConversations.add('gone'),
    { statusCode: 404, code: 'ConversationNotFound' },
  ],
  [
    'a request above the rate limit',
    () => platform.refuse(429, 'TooManyRequests'),
    { statusCode: 429, code: 'TooManyRequests' },
  ],
  ['a revoked token', () => platform.revokeTokens(), { statusCode: 401 }],
])('%s is refused by the fake team chat with the same error as by the vendor', async (_, plan, error) => {
  plan();
  const { getToken } = client.credentials as MicrosoftAppCredentials;
  const [before] = platform.tokens;
  if ('code' in error === false) Object.assign(client.credentials, { getToken: async () => before });
  const refused = client.conversations.sendToConversation('gone', { type: 'message', text: 'x' });
  await expect(refused).rejects.toMatchObject(error);
  Object.assign(client.credentials, { getToken });
});
