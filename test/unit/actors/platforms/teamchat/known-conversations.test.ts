// Which conversations of a team chat are known later (KC3).

import { expect, test } from 'vitest';
import { activityIn } from '../../../../../actors/platforms/teamchat/activity.ts';
import { KnownConversations } from '../../../../../actors/platforms/teamchat/known-conversations.ts';
import type { TeamChatTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

const APP = 'the-app';
const triggers = [{ config: { allowed_channels: [] } }] as unknown as readonly TeamChatTrigger[];

test('conversations that strangers begin in a browser, however many, make none of the chat itself forgotten', async () => {
  const known = new KnownConversations(new MemoryStore());
  const note = (channelId: string, id: string) => {
    const payload = {
      type: 'message',
      id: '1',
      channelId,
      serviceUrl: `https://${channelId}/`,
      conversation: { id },
    };
    const activity = activityIn(payload);
    if (activity === undefined) throw new Error('no activity');
    return known.note(APP, triggers, activity);
  };
  await note('msteams', '19:ops@thread.tacv2');
  for (let n = 0; n <= 10_000; n += 1) await note('webchat', `page-${n}`);
  expect(await known.find(APP, '19:ops@thread.tacv2')).toMatchObject({ serviceUrl: 'https://msteams/' });
  expect(await known.find(APP, 'page-10000')).toMatchObject({ serviceUrl: 'https://webchat/' });
  expect(await known.find(APP, 'page-0')).toBeUndefined();
  // Nor does one of them lead elsewhere what is for the chat.
  await note('webchat', '19:ops@thread.tacv2');
  expect(await known.find(APP, '19:ops@thread.tacv2')).toMatchObject({ serviceUrl: 'https://msteams/' });
});
