import { expect, test } from 'vitest';
import { activityIn } from '../../../../../actors/platforms/teamchat/activity.ts';

const message = {
  type: 'message',
  channelId: 'msteams',
  serviceUrl: 'https://chat.example.com/',
  conversation: { id: 'a:1' },
};

test('an activity whose type or channelId is empty, too long or has invalid characters is rejected', () => {
  const longest = 'x'.repeat(100);
  expect(activityIn({ ...message, type: longest, channelId: longest })).toMatchObject({
    type: longest,
    channelId: longest,
  });
  for (const wrong of ['', `${longest}x`, 'a\nb', 'a\u0000', '\ud800', 7, undefined])
    for (const member of ['type', 'channelId'])
      expect([member, wrong, activityIn({ ...message, [member]: wrong })]).toEqual([
        member,
        wrong,
        undefined,
      ]);
});
