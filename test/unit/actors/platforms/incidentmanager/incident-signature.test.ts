// Signatures of the incident manager: test vector of the vendor's Go client, several secrets on both sides,
// and invalid signatures.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRefusal } from '../../../../../actors/identity/principal.ts';
import { incidentVerifier } from '../../../../../actors/platforms/incidentmanager/verifier.ts';
import type { WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';
import { signatureOf } from '../../../../fixtures/incident-platform/webhook-sender.ts';

/** Test vector of PagerDuty/go-pagerduty, webhookv3/webhookv3_test.go. */
const published = {
  secret: 'lDQHScfUeXUKaQRNF+8XIiDKZ7XX3itBAYzwU0TARw8lJqRnkKl2iB1anSb0Z+IK',
  signature: 'v1=0c0b9495b893a39e70d1fea2fe11fbe0a825f88b9f67846f6cc07dd2bc5476cd',
  mismatch: 'v1=7020c8a7ec668a9b7012bc3dd82e483394b038f4230acc6785efbf2a7d8bcaf5',
  body: publishedBody(),
};

function publishedBody(): string {
  const site = 'https://acme.pagerduty.com';
  const to = (kind: string, places: string, id: string, summary: string, page = `${places}/${id}`) => ({
    html_url: `${site}/${page}`,
    id,
    self: `https://api.pagerduty.com/${places}/${id}`,
    summary,
    type: `${kind}_reference`,
  });
  return JSON.stringify({
    event: {
      id: '01BWDWL3NYY7LUFPZCC28QUCMK',
      event_type: 'incident.priority_updated',
      resource_type: 'incident',
      occurred_at: '2021-04-26T17:36:27.458Z',
      agent: to('user', 'users', 'PLH1HKV', 'Tenex Engineer'),
      client: null,
      data: {
        id: 'PGR0VU2',
        type: 'incident',
        self: 'https://api.pagerduty.com/incidents/PGR0VU2',
        html_url: `${site}/incidents/PGR0VU2`,
        number: 2,
        status: 'triggered',
        title: 'A little bump in the road',
        service: to('service', 'services', 'PF9KMXH', 'API Service'),
        assignees: [to('user', 'users', 'PTUXL6G', 'User 123')],
        escalation_policy: to('escalation_policy', 'escalation_policies', 'PUS0KTE', 'Default'),
        teams: [to('team', 'teams', 'PFCVPS0', 'Engineering')],
        priority: to('priority', 'priorities', 'PSO75BM', 'P1', 'account/incident_priorities'),
        urgency: 'high',
        conference_bridge: { conference_number: 1000, conference_url: 'https://example.com' },
        resolve_reason: null,
      },
    },
  });
}

const request = (signature: string | undefined) =>
  ({
    headers: signature === undefined ? {} : { 'x-pagerduty-signature': signature },
  }) as unknown as WebhookRequest;

async function isAccepted(secrets: readonly string[], signature: string | undefined, body: string) {
  const verifier = incidentVerifier({ secrets, allowsUnverified: false });
  const verdict = await verifier.verify(request(signature), Buffer.from(body));
  return verifier.hasProof(request(signature)) && !isRefusal(verdict);
}

describe('the webhook signature verifier', () => {
  const { secret, signature, mismatch, body } = published;

  test.each([
    ['accepts the published signature', [secret], signature, true],
    ['accepts one of several signatures', [secret], `${mismatch},${signature}`, true],
    ['accepts signatures separated by blanks', [secret], `${mismatch}, ${signature}`, true],
    ['accepts capital letters', [secret], signature.toUpperCase().replace('V1', 'v1'), true],
    ['ignores a future version next to it', [secret], `v2=abc,${signature}`, true],
    ['accepts a signature of the second secret', ['another', secret], signature, true],
    ['rejects a wrong signature', [secret], mismatch, false],
    ['rejects a signature of another secret', ['another'], signature, false],
    ['rejects another version', [secret], signature.replace('v1', 'v2'), false],
    ['rejects a cut signature', [secret], signature.slice(0, -1), false],
    ['rejects a longer signature', [secret], `${signature}0`, false],
    ['rejects a signature without version', [secret], signature.slice(3), false],
    ['rejects an empty signature', [secret], '', false],
    ['rejects a missing signature', [secret], undefined, false],
    [
      'rejects a signature after too many other signatures',
      [secret],
      `${`${mismatch},`.repeat(16)}${signature}`,
      false,
    ],
  ])('%s', async (_, secrets, given, expected) => {
    expect(await isAccepted(secrets, given, body)).toBe(expected);
  });

  test('rejects a changed byte in the body or the signature', async () => {
    const bytes = fc.tuple(fc.string({ minLength: 1 }), fc.nat(), fc.integer({ min: 1, max: 255 }));
    await fc.assert(
      fc.asyncProperty(bytes, async ([text, at, flip]) => {
        const own = Buffer.from(text);
        const signed = signatureOf(text, ['a secret']);
        expect(await isAccepted(['a secret'], signed, text)).toBe(true);
        const verifier = incidentVerifier({ secrets: ['a secret'], allowsUnverified: false });
        const changedBody = Buffer.from(own);
        changedBody[at % own.length] = (own[at % own.length] ?? 0) ^ flip;
        expect(isRefusal(await verifier.verify(request(signed), changedBody))).toBe(true);
        const place = 3 + (at % 64);
        const digit = ((Number.parseInt(signed[place] ?? '', 16) + 1 + (flip % 15)) % 16).toString(16);
        const forged = signed.slice(0, place) + digit + signed.slice(place + 1);
        expect(isRefusal(await verifier.verify(request(forged), own))).toBe(true);
      }),
    );
  });
});

test('the webhook signature verifier requires a secret, unless unverified requests are explicitly allowed', () => {
  expect(() => incidentVerifier({ secrets: [], allowsUnverified: false })).toThrow('webhook_secret is empty');
  expect(incidentVerifier({ secrets: [], allowsUnverified: true }).isOpen).toBe(true);
});

test('webhook signature verifiers with the same secrets, in any order, have the same identity', () => {
  const identity = (...secrets: string[]) => incidentVerifier({ secrets, allowsUnverified: false }).identity;
  expect(identity('a', 'b')).toBe(identity('b', 'a'));
  expect(identity('a')).not.toBe(identity('a', 'b'));
});
