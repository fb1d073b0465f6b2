import { expect, test } from 'vitest';
import {
  parseRepoPayload,
  readRepoEvent,
  repoEvent,
} from '../../../../../actors/platforms/repository-hosts/event.ts';
import { repoHostEvents } from '../../../../../actors/platforms/repository-hosts/repohost/facts.ts';
import type { WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';
import { commentPayload } from '../../../../fixtures/automation/repo-comments.ts';

const request = {
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  traceparent: '',
} as unknown as WebhookRequest;

test('a large payload in a form is read as JSON, when it arrives and from the store', async () => {
  const json = JSON.stringify(commentPayload('a&b '.repeat(100_000)));
  const body = Buffer.from(new URLSearchParams({ payload: json }).toString());
  const parsedPayload = await parseRepoPayload(repoHostEvents, 'issue_comment', request, body);
  if (typeof parsedPayload !== 'object') throw new Error('the payload was not parsed');
  const principal = { kind: 'key', name: 'webhook_secret' } as const;
  const more = { id: 'repohost:t/1', event: 'issue_comment', principal };
  const { parsed, ...event } = repoEvent(repoHostEvents, ['t'], request, { ...parsedPayload, ...more }, body);
  const stored = { ...event, trace: '', seq: 1, at: 1, attempt: 1, crashes: 0 };
  for (const each of [{ ...stored, parsed }, stored]) {
    const { payloadJson = Buffer.alloc(0) } = readRepoEvent(repoHostEvents, each);
    expect(Buffer.from(payloadJson).equals(Buffer.from(json))).toBe(true);
  }
});
