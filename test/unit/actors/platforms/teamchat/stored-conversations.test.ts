import { expect, test } from 'vitest';
import { activityIn } from '../../../../../actors/platforms/teamchat/activity.ts';
import { StoredConversations } from '../../../../../actors/platforms/teamchat/stored-conversations.ts';
import type { TeamChatTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

const APP = 'the-app';
const triggers = [{ config: { allowed_channels: [] } }] as unknown as readonly TeamChatTrigger[];

test('many web chat conversations do not evict stored conversations of the team chat', async () => {
  const conversations = new StoredConversations(new MemoryStore());
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
    return conversations.save(APP, triggers, activity);
  };
  await note('msteams', '19:ops@thread.tacv2');
  for (let n = 0; n <= 10_000; n += 1) await note('webchat', `page-${n}`);
  expect(await conversations.find(APP, '19:ops@thread.tacv2')).toMatchObject({
    serviceUrl: 'https://msteams/',
  });
  expect(await conversations.find(APP, 'page-10000')).toMatchObject({ serviceUrl: 'https://webchat/' });
  expect(await conversations.find(APP, 'page-0')).toBeUndefined();
  // A web chat conversation with the same id does not replace the stored one.
  await note('webchat', '19:ops@thread.tacv2');
  expect(await conversations.find(APP, '19:ops@thread.tacv2')).toMatchObject({
    serviceUrl: 'https://msteams/',
  });
});
