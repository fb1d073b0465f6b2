import { expect, test } from 'vitest';
import { activityIn } from '../../../../../actors/platforms/teamchat/activity.ts';

const said = {
  type: 'message',
  channelId: 'msteams',
  serviceUrl: 'https://chat.example.com/',
  conversation: { id: 'a:1' },
};

test('a type or channelId that is empty, long, or has signs that stand in no name makes it no activity', () => {
  const most = 'x'.repeat(100);
  expect(activityIn({ ...said, type: most, channelId: most })).toMatchObject({ type: most, channelId: most });
  for (const wrong of ['', `${most}x`, 'a\nb', 'a\u0000', '\ud800', 7, undefined])
    for (const member of ['type', 'channelId'])
      expect([member, wrong, activityIn({ ...said, [member]: wrong })]).toEqual([member, wrong, undefined]);
});
